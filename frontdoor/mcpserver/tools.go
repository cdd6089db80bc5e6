package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// taskTool describes the task tool as of now, to a host.
func (c *connection) taskTool(h hosts.Host) *mcp.Tool {
	annotations := hints()
	annotations.ReadOnlyHint = c.readOnly || c.tasks.ReadOnly()
	spec := c.tasks.SpecFor(taskt.Presentation{SideBySide: h.SideBySide(annotations.ReadOnlyHint), AnyName: h.OwnEnum})
	return &mcp.Tool{
		Name:        spec.Name,
		Title:       "Give a task to a subagent",
		Description: truncateDescriptions(spec.Description, c.tasks.Agents()),
		InputSchema: spec.InputSchema,
		Annotations: annotations,
		Meta:        resultMeta(),
	}
}

// controlTool describes an operation on the subagents of the connection.
func controlTool(op *control.Operation) *mcp.Tool {
	annotations := hints()
	annotations.IdempotentHint, annotations.ReadOnlyHint = !op.Once, op.ReadOnly
	schema := op.InputSchema
	if op.Name == taskWaitName {
		schema = withAttempts(schema)
	}
	return &mcp.Tool{
		Name: op.Name, Title: op.Title, Description: op.Description, InputSchema: schema, Annotations: annotations, Meta: resultMeta(),
	}
}

// withAttempts adds to the schema of task_wait what makes a call differ from the
// one before.
func withAttempts(schema json.RawMessage) json.RawMessage {
	return bytes.Replace(schema, []byte(`"properties":{`), []byte(`"properties":{`+
		`"attempt":{"type":"number","description":"as the answer of the call before says: it makes the calls differ"},`+
		`"sinceSeconds":{"type":"number","description":"as the answer of the call before says"},`), 1)
}

func agentsListTool() *mcp.Tool {
	return &mcp.Tool{
		Name:  agentsListName,
		Title: "List the subagents",
		Description: "Lists the subagents that the task tool accepts as agentType, with their whole descriptions, as JSON. " +
			"Where there are too many for one result, nextOffset is the offset with which the list goes on.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{` +
			`"offset":{"type":"integer","minimum":0,"description":"how many to pass over; 0 without it"}},` +
			`"additionalProperties":false}`),
		Annotations: readOnlyHints(),
		Meta:        resultMeta(),
	}
}

// hints are those of a tool that works in the workspace. What a child may do is
// held by its permissions. Without these two "codex exec" refuses the call.
func hints() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{DestructiveHint: new(bool), OpenWorldHint: new(bool)}
}

func readOnlyHints() *mcp.ToolAnnotations {
	h := hints()
	h.IdempotentHint, h.ReadOnlyHint = true, true
	return h
}

// resultMeta is for Claude Code: it is to offer the tool without a search, and
// to take its results whole.
func resultMeta() mcp.Meta {
	return mcp.Meta{"anthropic/alwaysLoad": true, "anthropic/maxResultSizeChars": hosts.MaxResultChars}
}

// addTools gives the server the tools of the connection.
func (c *connection) addTools(server *mcp.Server) {
	c.addTaskTool(server)
	for _, op := range control.Operations {
		server.AddTool(controlTool(op), c.noting(c.operation(op)))
	}
	server.AddTool(agentsListTool(), c.noting(c.agentsList))
}

// addTaskTool adds the task tool, or replaces it. listNow has it as the host
// gets it.
func (c *connection) addTaskTool(server *mcp.Server) {
	server.AddTool(c.taskTool(hosts.Unknown), c.noting(c.task))
}

// agentsList is the agents_list tool. It lists as many as the host takes.
func (c *connection) agentsList(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		Offset int `json:"offset"`
	}
	if err := readArguments(agentsListName, req.Params.Arguments, &in); err != nil {
		return refusal(err), nil
	}
	agents := c.tasks.Agents()
	if in.Offset < 0 || in.Offset > len(agents) {
		return refusal(fmt.Errorf("there are %d agents: offset %d is not within 0 and %d", len(agents), in.Offset, len(agents))), nil
	}
	text, err := listAgents(agents, in.Offset, c.host(req.ClientInfo()).Text)
	if err != nil {
		return nil, fmt.Errorf("listing the agents: %w", err)
	}
	return textResult(text), nil
}

// listAgents returns the agents from offset on as a JSON object, since Gemini
// CLI takes no array: as many as limit has budget for and at least one, and where
// the list goes on.
func listAgents(agents []taskt.Agent, offset int, limit hosts.Size) (string, error) {
	var b strings.Builder
	b.WriteString(`{"agents": [`)
	for i, agent := range agents[offset:] {
		text, err := json.MarshalIndent(agent, " ", " ")
		if err != nil {
			return "", err
		}
		item := "\n " + string(text)
		if i > 0 {
			item = "," + item
		}
		if i > 0 && !limit.Fits(b.String()+item+endOfList(offset+i+1, len(agents))) {
			return b.String() + endOfList(offset+i, len(agents)), nil
		}
		b.WriteString(item)
	}
	return b.String() + endOfList(len(agents), len(agents)), nil
}

// endOfList ends a list of agents that goes up to end.
func endOfList(end, all int) string {
	if end == all {
		return "\n]}"
	}
	return fmt.Sprintf("\n], \"total\": %d, \"nextOffset\": %d}", all, end)
}

// listNow answers tools/list with the agents of the moment. Where there are
// none there is no task tool.
func (c *connection) listNow(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		list, ok := res.(*mcp.ListToolsResult)
		if err != nil || !ok {
			return res, err
		}
		var client *mcp.Implementation
		if listing, ok := req.(*mcp.ListToolsRequest); ok {
			client = listing.ClientInfo()
		}
		var tools []*mcp.Tool
		for _, t := range list.Tools {
			switch {
			case t.Name != taskName:
				tools = append(tools, t)
			case len(c.tasks.Agents()) > 0:
				tools = append(tools, c.taskTool(c.host(client)))
			}
		}
		if c.perAgent {
			tools = append(tools, c.agentTools()...)
		}
		list.Tools = tools
		return list, nil
	}
}

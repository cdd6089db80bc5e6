package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/toolname"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/taskt"
)

// maxToolDescription bounds the description of a tool that calls one agent, in
// characters: hosts show all tools to their models at once.
const maxToolDescription = 1000

// agentTools describes the tools that call one agent each, as of now.
func (c *connection) agentTools() []*mcp.Tool {
	agents, reading := c.tasks.Agents(), c.tasks.ReadOnlyAgents()
	schema := c.tasks.SpecFor(taskt.Presentation{OneAgent: true}).InputSchema
	tools := make([]*mcp.Tool, 0, len(agents))
	for i, name := range namesOf(agents) {
		annotations := hints()
		annotations.ReadOnlyHint = c.readOnly || slices.Contains(reading, agents[i].Name)
		description := hosts.HeadOf(strings.TrimSpace(agents[i].Description), maxToolDescription, hosts.Size{Max: maxToolDescription})
		tools = append(tools, &mcp.Tool{
			Name:        name,
			Title:       "Give a task to " + termtext.OneLine(agents[i].Name, 100),
			Description: description + "\n\nThe same as task with this agent: it sees nothing of this conversation.",
			InputSchema: schema,
			Annotations: annotations,
			Meta:        resultMeta(),
		})
	}
	return tools
}

// namesOf returns the names of the tools of agents.
func namesOf(agents []taskt.Agent) []string {
	names := make([]string, len(agents))
	for i, a := range agents {
		names[i] = a.Name
	}
	return toolname.Of(names)
}

// agentNamed has the agent whose tool was called.
type agentNamed struct{}

// callAgentTool makes a call of an agent's tool one of task. A tool that there is not any
// more is left to the SDK, which refuses it.
func (c *connection) callAgentTool(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok || !toolname.Is(call.Params.Name) {
			return next(ctx, method, req)
		}
		agents := c.tasks.Agents()
		i := slices.Index(namesOf(agents), call.Params.Name)
		if i < 0 {
			return next(ctx, method, req)
		}
		params, named := *call.Params, *call
		params.Name, named.Params = taskName, &params
		return next(context.WithValue(ctx, agentNamed{}, agents[i].Name), method, &named)
	}
}

// nameAgent puts the agent of the tool that was called into the input of task.
func nameAgent(ctx context.Context, in *taskt.Input) error {
	agent, ok := ctx.Value(agentNamed{}).(string)
	if ok && !strings.EqualFold(cmp.Or(in.AgentType, agent), agent) {
		return fmt.Errorf("this tool calls the agent %q, and agentType names another: leave it out, or call %s", agent, taskName)
	}
	if ok {
		in.AgentType = agent
	}
	return nil
}

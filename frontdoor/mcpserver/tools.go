package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt"
)

const (
	agentsListName = "agents_list"

	// maxArgumentBytes bounds a call's arguments. Written as JSON within JSON
	// they grow at most sevenfold, and stay below the 8 MiB of an event.
	maxArgumentBytes = 1 << 20

	// maxResultChars asks Claude Code, which cuts at 50,000 characters, for as
	// many as it lets a tool ask for: an answer is to arrive whole.
	maxResultChars = 500_000
)

// taskTool describes the task tool as of now.
func (c *connection) taskTool() *mcp.Tool {
	spec := c.tasks.Spec()
	return &mcp.Tool{
		Name:        spec.Name,
		Title:       "Give a task to a subagent",
		Description: fit(spec.Description, c.tasks.Agents()),
		InputSchema: spec.InputSchema,
		// What a child may do is held by its permissions. Without these two
		// "codex exec" refuses the call.
		Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool), OpenWorldHint: new(bool)},
		Meta:        mcp.Meta{"anthropic/alwaysLoad": true, "anthropic/maxResultSizeChars": maxResultChars},
	}
}

func agentsListTool() *mcp.Tool {
	return &mcp.Tool{
		Name:        agentsListName,
		Title:       "List the subagents",
		Description: "Lists the subagents that the task tool accepts as agentType, with their whole descriptions, as JSON.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool), OpenWorldHint: new(bool), IdempotentHint: true, ReadOnlyHint: true},
	}
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
		var tools []*mcp.Tool
		for _, t := range list.Tools {
			switch {
			case t.Name == agentsListName:
				tools = append(tools, t)
			case len(c.tasks.Agents()) > 0:
				tools = append(tools, c.taskTool())
			}
		}
		list.Tools = tools
		return list, nil
	}
}

// task runs one call of the task tool.
func (c *connection) task(reqCtx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	defer context.AfterFunc(reqCtx, cancel)()

	in, err := parseInput(req.Params.Arguments)
	if err != nil {
		return taskResult(failure(in.AgentType, err)), nil
	}
	root, err := c.caller(req.ClientInfo())
	if err != nil {
		return taskResult(failure(in.AgentType, err)), nil
	}
	call := c.tracker.add(in)
	defer c.report(reqCtx, req, call)()
	return taskResult(c.tasks.Call(ctx, root, in)), nil
}

// parseInput reads a call's arguments. Whether they make sense is for the
// service to say.
func parseInput(args json.RawMessage) (taskt.Input, error) {
	var in taskt.Input
	if len(args) > maxArgumentBytes {
		return in, fmt.Errorf("the arguments of task have %d bytes, more than %d: write long material to a file and name it in the prompt", len(args), maxArgumentBytes)
	}
	if len(args) == 0 {
		return in, nil // a call without arguments
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return in, fmt.Errorf("the arguments of task: %w", err)
	}
	return in, nil
}

func failure(agent string, err error) *taskt.Result {
	return &taskt.Result{Agent: agent, Status: session.Failed, Text: err.Error(), Err: err}
}

// taskResult is a result as hosts get it: all that the model is to read is in
// the text, since some show it nothing else and others structured content alone.
func taskResult(r *taskt.Result) *mcp.CallToolResult {
	meta := mcp.Meta{"status": r.Status, "usage": r.Record.Usage, "durationMs": r.Duration.Milliseconds()}
	if r.SessionID != "" {
		meta["sessionId"] = r.SessionID
	}
	return &mcp.CallToolResult{
		Meta:    meta,
		Content: []mcp.Content{&mcp.TextContent{Text: r.XML()}},
		IsError: r.Err != nil,
	}
}

// agentsList is the agents_list tool.
func (c *connection) agentsList(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	agents := append([]taskt.Agent{}, c.tasks.Agents()...) // none: [], not null
	text, err := json.MarshalIndent(agents, "", " ")
	if err != nil {
		return nil, fmt.Errorf("listing the agents: %w", err)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, nil
}

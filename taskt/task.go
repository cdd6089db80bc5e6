package taskt

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

const (
	toolName = "task"

	// metaResult is where the tool's result keeps the [Result] for callers in
	// this process.
	metaResult = "taskResult"
)

// taskTool is the task tool. Its schema follows the snapshot.
type taskTool struct{ service *Service }

var _ tool.Tool = (*taskTool)(nil)

// Spec implements [tool.Tool].
func (t *taskTool) Spec() tool.Spec {
	agents := t.service.agents.Snapshot().Subagents()
	input, err := schema(agents)
	if err != nil { // strings and constants always have a JSON form
		panic(err)
	}
	return tool.Spec{Name: toolName, Description: describe(agents), InputSchema: input, OwnTimeLimit: true}
}

// Values implements [tool.Tool]: the value is the agent's name.
func (t *taskTool) Values(args json.RawMessage) ([]permission.Value, error) {
	in, err := parseInput(args)
	if err != nil {
		return nil, err
	}
	return []permission.Value{{Tool: toolName, Text: in.AgentType}}, nil
}

// Run implements [tool.Tool]: it runs the child, in the caller's own goroutine.
func (t *taskTool) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	in, err := parseInput(call.Args)
	if err != nil {
		return tool.Result{}, err
	}
	parent, ok := t.service.sessions.Live(call.SessionID)
	if !ok {
		return tool.Result{}, fmt.Errorf("session %s does not run here", call.SessionID)
	}
	result := t.service.run(ctx, parent, call.MessageID, in)
	return tool.Result{
		Text:    result.XML(),
		IsError: result.Err != nil,
		Meta:    map[string]any{metaResult: result},
	}, nil
}

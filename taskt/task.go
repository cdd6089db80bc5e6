package taskt

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/tool"
)

const (
	toolName = "task"

	// metaResult is where the tool's result keeps the [Result] for callers in
	// this process.
	metaResult = "taskResult"
)

// taskTool is the task tool of one caller. Its schema follows the snapshot.
type taskTool struct {
	service *Service
	caller  string // as [agentdefs.Definition.Callers] has it; empty: an agent that none names
}

var _ tool.Tool = (*taskTool)(nil)

// Spec implements [tool.Tool].
func (t *taskTool) Spec() tool.Spec {
	return t.service.offers().of(t.caller).spec
}

// Values implements [tool.Tool]: the value is the name of the agent that the
// call means, so that a rule about it holds for its aliases too, and in any
// case of the letters. A name of no agent is a value as it stands. The same in
// small letters can only deny: so does a rule that writes the name otherwise.
func (t *taskTool) Values(args json.RawMessage) ([]permission.Value, error) {
	in, err := parseInput(args)
	if err != nil {
		return nil, err
	}
	name := t.service.nameOf(in.AgentType)
	return []permission.Value{
		{Tool: toolName, Text: name},
		{Tool: toolName, Text: strings.ToLower(name), Folded: true, DenyOnly: true},
	}, nil
}

// Run implements [tool.Tool]: it runs the child, in the caller's own goroutine.
// The agent is the one that was judged.
func (t *taskTool) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	in, err := parseInput(call.Args)
	if err != nil {
		return tool.Result{}, err
	}
	parent, ok := t.service.sessions.Live(call.SessionID)
	if !ok {
		return tool.Result{}, fmt.Errorf("session %s does not run here", call.SessionID)
	}
	result := &Result{Agent: t.service.nameOf(in.AgentType), Status: session.Failed}
	def, err := t.service.find(t.caller, in.AgentType)
	if err == nil && (len(call.Values) == 0 || call.Values[0].Text != def.Name) {
		err = fmt.Errorf("the agents have changed meanwhile, and %q now is the agent %q: call again if that is the one you mean", in.AgentType, def.Name)
	}
	if err != nil {
		result.fail(ctx, err)
	} else {
		t.service.run(ctx, parent, call.MessageID, def, in, result)
	}
	return tool.Result{
		Text:    result.XML(),
		IsError: result.Err != nil,
		Meta:    map[string]any{metaResult: result},
	}, nil
}

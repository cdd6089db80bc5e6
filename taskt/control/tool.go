package control

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

// lookupTime bounds the look at the store for what a call is about.
const lookupTime = 10 * time.Second

// operationTool is an operation as the models of sessions are offered it.
type operationTool struct {
	control *Control
	op      *Operation
	follows string
	hooks   Hooks
}

var _ tool.Preparer = (*operationTool)(nil)

// Hooks are what the operations need from the package that makes subagents.
type Hooks struct {
	// Offered reports whether the tool is offered that makes subagents.
	Offered func() bool

	// Told is called with the subagents of whose end a call's result tells the
	// session that made it.
	Told func(call *tool.Call, ended []string)

	// Resume is [Scope.Resume] for the session that makes a call.
	Resume func(ctx context.Context, call *tool.Call, r Resumption) (sessionID string, err error)
}

// Tools returns the operations as tools for the models of sessions. Each reaches
// what is below the session that makes the call. They follow the tool that makes
// subagents ([tool.Spec.Follows]): its rules hold for them, with the subagent's
// agent as the value.
func (c *Control) Tools(follows string, hooks Hooks) []tool.Tool {
	tools := make([]tool.Tool, 0, len(Operations))
	for _, op := range Operations {
		if !op.Hosts {
			tools = append(tools, &operationTool{c, op, follows, hooks})
		}
	}
	return tools
}

// Spec implements [tool.Tool].
func (t *operationTool) Spec() tool.Spec {
	return tool.Spec{
		Name:         t.op.Name,
		Description:  t.op.Description,
		InputSchema:  t.op.InputSchema,
		ReadOnly:     t.op.ReadOnly,
		Delegates:    t.op.Waits,
		Unavailable:  !t.hooks.Offered(),
		OwnTimeLimit: true,
		Follows:      t.follows,
	}
}

// Values implements [tool.Tool].
func (t *operationTool) Values(args json.RawMessage) ([]permission.Value, error) {
	c, err := t.Prepare(args)
	if err != nil {
		return nil, err
	}
	return c.Values()
}

// Describe implements [tool.Tool].
func (t *operationTool) Describe(call *tool.Call) tool.Description {
	return tool.DescribeArguments("call "+t.op.Name, call.Args)
}

// Run implements [tool.Tool].
func (t *operationTool) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	c, err := t.Prepare(call.Args)
	if err != nil {
		return tool.Result{}, err
	}
	return c.Run(ctx, call)
}

// Prepare implements [tool.Preparer].
func (t *operationTool) Prepare(args json.RawMessage) (tool.Prepared, error) {
	in, err := t.op.read(args)
	if err != nil {
		return nil, err
	}
	return &operationCall{t, in}, nil
}

// operationCall is one call of a model.
type operationCall struct {
	*operationTool
	in input
}

// Values implements [tool.Prepared]: the agents of the sessions that the call
// names. One that names none has no values; Run leaves out what is denied.
func (c *operationCall) Values() ([]permission.Value, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTime)
	defer cancel()
	var values []permission.Value
	for _, id := range c.in.Sessions() {
		r, err := c.control.get(ctx, &Scope{Workspace: true}, id)
		if err != nil {
			return nil, err
		}
		values = append(values, valuesOf(c.follows, r.Agent)...)
	}
	return values, nil
}

// valuesOf are the values of what is about an agent: its name, and the same in
// small letters, which can only deny.
func valuesOf(tool, agent string) []permission.Value {
	return []permission.Value{
		{Tool: tool, Text: agent},
		{Tool: tool, Text: strings.ToLower(agent), Kind: permission.Folded},
	}
}

// Run implements [tool.Prepared].
func (c *operationCall) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	scope := &Scope{
		Below:  []string{call.SessionID},
		By:     fmt.Sprintf("its caller, session %s", call.SessionID),
		As:     record.NoPerson,
		Resume: func(ctx context.Context, r Resumption) (string, error) { return c.hooks.Resume(ctx, call, r) },
		allows: func(r *record.Record) bool {
			return call.Rules == nil || call.Rules.Decide(valuesOf(c.follows, r.Agent)).Action != permission.Deny
		},
	}
	answer, err := c.in.do(ctx, c.control, scope)
	if err != nil {
		return tool.Result{}, err
	}
	if ended := endedIn(answer); len(ended) > 0 {
		c.hooks.Told(call, ended)
	}
	return tool.Result{Text: answer.Answer()}, nil
}

// endedIn returns the sessions of whose end an answer tells.
func endedIn(answer Answer) (ids []string) {
	switch answer := answer.(type) {
	case *Waited:
		for _, doc := range answer.Results {
			ids = append(ids, doc.SessionID)
		}
	case *Stopped:
		for _, s := range answer.Sessions {
			ids = append(ids, s.SessionID)
		}
	case *Page:
		if !answer.Transcript {
			ids = append(ids, answer.SessionID)
		}
	}
	return ids
}

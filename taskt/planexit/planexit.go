// Package planexit is the tool plan_exit: an agent that plans, and may not change
// anything, puts its plan to a person. If that allows it, the session goes on as the
// agent that carries it out.
//
// A person is asked each time: no rule can allow it, and there is no "always".
package planexit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentworker/worker/internal/strictjson"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// maxPlan bounds a plan, in bytes.
const maxPlan = 16 << 10

// Next has the session of an id go on as the next agent, once the step that runs is
// over.
type Next func(sessionID string) error

// Tool returns the tool of sessions that may go on as another agent. next looks up its current
// definition. Its error says why no session can become it.
func Tool(agent string, next func() (Next, error)) tool.Tool { return &planExit{agent, next} }

type planExit struct {
	agent string
	next  func() (Next, error)
}

var _ tool.Preparer = (*planExit)(nil)

type args struct {
	Plan string `json:"plan"`
}

// Spec implements [tool.Tool].
func (t *planExit) Spec() tool.Spec {
	return tool.Spec{
		Name: toolcatalog.PlanExit,
		Description: fmt.Sprintf("Puts your finished plan to a person. If it is allowed, you go on in this conversation as the agent %q, "+
			"and carry it out. If not, you are told why, and go on planning. Call it alone, once the plan is complete and your questions are answered.", t.agent),
		InputSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"plan":{"type":"string","minLength":1,"maxLength":%d,`+
			`"description":"the whole plan, in Markdown: the person decides by this alone"}},"required":["plan"],"additionalProperties":false}`, maxPlan)),
		ReadOnly:     true, // what the next agent may do is another matter
		OwnTimeLimit: true,
	}
}

// Values implements [tool.Tool].
func (t *planExit) Values(args json.RawMessage) ([]permission.Value, error) {
	c, err := t.Prepare(args)
	if err != nil {
		return nil, err
	}
	return c.Values()
}

// Describe implements [tool.Tool].
func (t *planExit) Describe(call *tool.Call) tool.Description {
	return tool.DescribeArguments(fmt.Sprintf("carry out its plan as the agent %q", t.agent), call.Args)
}

// Run implements [tool.Tool].
func (t *planExit) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	c, err := t.Prepare(call.Args)
	if err == nil {
		_, err = c.Values()
	}
	if err != nil {
		return tool.Result{}, err
	}
	return c.Run(ctx, call)
}

// Prepare implements [tool.Preparer].
func (t *planExit) Prepare(data json.RawMessage) (tool.Prepared, error) {
	var in args
	if err := strictjson.Decode(data, &in); err != nil {
		return nil, err
	}
	switch {
	case strings.TrimSpace(in.Plan) == "":
		return nil, errors.New("plan is empty")
	case len(in.Plan) > maxPlan:
		return nil, fmt.Errorf("plan has %d bytes: it may have %d", len(in.Plan), maxPlan)
	}
	return &call{tool: t}, nil
}

// call is one call. What was judged last is what runs.
type call struct {
	tool *planExit
	next Next
}

// Values implements [tool.Prepared]: the value is the name of the next agent, for rules
// that deny it, and a person is asked in any case.
func (c *call) Values() (_ []permission.Value, err error) {
	if c.next, err = c.tool.next(); err != nil {
		return nil, err
	}
	return []permission.Value{{
		Tool: toolcatalog.PlanExit, Text: c.tool.agent,
		Certainty: permission.Unknown, Why: "the session would go on as that agent, with what it may do",
	}}, nil
}

// Run implements [tool.Prepared].
func (c *call) Run(_ context.Context, of *tool.Call) (tool.Result, error) {
	if c.next == nil || len(of.Values) == 0 {
		return tool.Result{}, errors.New("the call was not judged")
	}
	if err := c.next(of.SessionID); err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Text: fmt.Sprintf("The plan is allowed. From your next step on you are the agent %q, with its instructions, tools and rules: "+
		"what you were told of your role before does not hold any more. Carry the plan out now.", c.tool.agent)}, nil
}

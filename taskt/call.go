package taskt

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt/input"
	"github.com/agentworker/worker/taskt/offer"
	"github.com/agentworker/worker/tool"
)

// taskTool is the task tool of one caller. Its schema follows the snapshot.
type taskTool struct {
	service *Service
	caller  offer.Caller
}

var _ tool.Preparer = (*taskTool)(nil)

// Spec implements [tool.Tool].
func (t *taskTool) Spec() tool.Spec {
	return t.service.offers.Current().Of(t.caller).Spec(offer.ForModels)
}

// Values implements [tool.Tool].
func (t *taskTool) Values(args json.RawMessage) ([]permission.Value, error) {
	c, err := t.Prepare(args)
	if err != nil {
		return nil, err
	}
	return c.Values()
}

// Describe implements [tool.Tool].
func (t *taskTool) Describe(call *tool.Call) tool.Description {
	var in struct{ AgentType string }
	_ = json.Unmarshal(call.Args, &in) // what is no text is among the arguments
	if in.AgentType == "" {
		return tool.DescribeArguments("start a subagent", call.Args)
	}
	return tool.DescribeArguments("start the subagent "+in.AgentType, call.Args, "agentType")
}

// Run implements [tool.Tool].
func (t *taskTool) Run(ctx context.Context, made *tool.Call) (tool.Result, error) {
	c, err := t.Prepare(made.Args)
	if err != nil {
		return tool.Result{}, err
	}
	return c.Run(ctx, made)
}

// Prepare implements [tool.Preparer].
func (t *taskTool) Prepare(args json.RawMessage) (tool.Prepared, error) {
	in, err := input.Parse(args)
	if err != nil {
		return nil, err
	}
	return t.service.prepare(t.caller, in), nil
}

// call is one call of task, of a model or of a host: a request, the child that runs it, and
// what the caller waits for. The agent is looked up once: the one that was decided on runs.
type call struct {
	service *Service
	req     *request
	child   *child // not open before the call begins
	wait    wait
	begun   bool
}

var _ tool.Beginner = (*call)(nil)

func (s *Service) prepare(by offer.Caller, in Input) *call {
	c := &call{service: s, req: newRequest(s.offers.Current(), by, in)}
	c.child = &child{service: s, req: c.req, wait: &c.wait}
	return c
}

// forSkill returns the call by which a skill has a subagent do it; nil means that the caller can't
// call the agent. It waits for the subagent, whatever the agent's file says.
func (s *Service) forSkill(by offer.Caller, agent, description, prompt string) tool.Beginner {
	c := s.prepare(by, Input{AgentType: agent, Description: description, Prompt: prompt, Background: new(false)})
	if c.req.Err != nil {
		return nil
	}
	return c
}

// Values implements [tool.Prepared]. If the agents have changed while the call waited for an
// answer, the current definition of the agent counts.
func (c *call) Values() ([]permission.Value, error) {
	if err := c.req.in.Check(); err != nil {
		return nil, err
	}
	req, err := c.req.at(c.service.offers.Current())
	if err != nil {
		return nil, err
	}
	c.req, c.child.req = req, req
	return req.values(), nil
}

// Begin implements [tool.Beginner]: it opens the child, and starts its turn if a slot is free.
func (c *call) Begin(ctx context.Context, made *tool.Call) {
	c.begun = true
	begin := c.beginForeground
	if c.req.background() {
		begin = c.beginBackground
	}
	if err := begin(ctx, made); err != nil {
		c.wait.result = &Result{Agent: c.req.Agent, Status: record.Failed}
		c.wait.result.Fail(ctx, err)
	}
}

func (c *call) beginForeground(ctx context.Context, made *tool.Call) error {
	if c.child.Child == nil {
		if err := c.locate(made); err != nil {
			return err
		}
		if err := c.child.open(ctx, made); err != nil {
			return err
		}
	}
	c.child.Begin(ctx)
	return nil
}

// locate finds the session that makes the call, and checks whether it may.
func (c *call) locate(made *tool.Call) error {
	parent, ok := c.service.sessions.Live(made.SessionID)
	switch {
	case !ok:
		return fmt.Errorf("session %s does not run here", made.SessionID)
	case len(made.Values) == 0 || made.Values[0].Text != c.req.Agent:
		return fmt.Errorf("the agent %q was not judged", c.req.Agent)
	}
	c.child.parent = parent
	return c.child.check()
}

// Run implements [tool.Prepared]: it runs the child, in the caller's own goroutine. Its frames
// are small: see [tool.Beginner].
func (c *call) Run(ctx context.Context, made *tool.Call) (tool.Result, error) {
	if !c.begun {
		c.Begin(ctx, made)
	}
	if c.wait.result == nil {
		c.wait.made = made
		c.child.Run(ctx)
	}
	return tool.Result{Text: c.wait.result.ForModel(), IsError: c.wait.result.Err != nil}, nil
}

package taskt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/slots"
	"github.com/agentworker/worker/tool"
)

const toolName = "task"

// taskTool is the task tool of one caller. Its schema follows the snapshot.
type taskTool struct {
	service *Service
	caller  caller
}

var _ tool.Preparer = (*taskTool)(nil)

// Spec implements [tool.Tool].
func (t *taskTool) Spec() tool.Spec {
	return t.service.offers().of(t.caller).spec
}

// Values implements [tool.Tool].
func (t *taskTool) Values(args json.RawMessage) ([]permission.Value, error) {
	c, err := t.Prepare(args)
	if err != nil {
		return nil, err
	}
	return c.Values()
}

// Run implements [tool.Tool].
func (t *taskTool) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	c, err := t.Prepare(call.Args)
	if err != nil {
		return tool.Result{}, err
	}
	return c.Run(ctx, call)
}

// Prepare implements [tool.Preparer].
func (t *taskTool) Prepare(args json.RawMessage) (tool.Prepared, error) {
	in, err := parseInput(args)
	if err != nil {
		return nil, err
	}
	return t.service.prepare(t.caller, in), nil
}

// call is one task call: of a model, or of a caller that has a [Run] of it. The
// agent is looked up once, and what was judged is what runs.
type call struct {
	service *Service
	caller  caller
	in      Input
	opened  func(childID string) // told of the child; nil means nobody waits for it
	target
	begun  bool
	result *Result // nil means not known yet

	within context.Context // of a caller's own call: what runs in the background ends with it; nil means with its parent alone
	ended  chan struct{}   // closed: final is set; nil means it does not run in the background
	final  *Result         // of a child in the background

	parent, child *session.Session  // child is nil: not open
	resumes       *resumption       // nil means child begins anew
	place         *Place            // made for child; nil means it has none of its own
	held          string            // the id of child, if it is held to a folder
	restricted    []permission.Rule // what holds for child besides its agent's rules
	asksFirst     bool              // the start of the turn may wait: somebody may be asked about child's resident file
	prompt        string            // what child is told
	turn          *session.Turn     // of child
	slot          *slots.Slot       // nil means the child waits for it
	stays         bool              // child is not moved to the background
	waits         []*call           // taken over with child: calls of it that wait for theirs

	moving moving // of a call that waits
}

// target is what the name in a call means in one snapshot.
type target struct {
	offers *offers
	agent  string                // the name of the agent; that in the call if there is none
	def    *agentdefs.Definition // nil means err says why the caller can't call it
	err    error
}

var _ tool.Beginner = (*call)(nil)

func (s *Service) prepare(by caller, in Input) *call {
	return &call{service: s, caller: by, in: in, target: s.offers().target(by, in.AgentType)}
}

// Values implements [tool.Prepared]: the value is the name of the agent that the
// call means, so that a rule about it holds for its aliases too, and in any
// case of the letters. A name of no agent is a value as it stands. The same in
// small letters can only deny: so does a rule that writes the name otherwise.
//
// Where the agents have changed while the call waited for an answer, it means
// the agent as it is now, if that is the one that was judged.
func (c *call) Values() ([]permission.Value, error) {
	if err := c.in.check(); err != nil {
		return nil, err
	}
	if now := c.service.offers(); now != c.offers {
		target := now.target(c.caller, c.in.AgentType)
		if target.agent != c.agent {
			return nil, fmt.Errorf("the agents have changed meanwhile, and %q is now the agent %q: call again if that is the one you mean", c.in.AgentType, target.agent)
		}
		c.target = target
	}
	return []permission.Value{
		{Tool: toolName, Text: c.agent},
		{Tool: toolName, Text: strings.ToLower(c.agent), Kind: permission.Folded},
	}, nil
}

// Begin implements [tool.Beginner]: it opens the child, and starts its turn if it
// has a slot.
func (c *call) Begin(ctx context.Context, call *tool.Call) {
	c.begun = true
	if c.inBackground() {
		c.result = &Result{Agent: c.agent, Status: store.Failed}
		if err := c.beginBeside(ctx, call); err != nil {
			c.result.Fail(ctx, err)
		}
		return
	}
	taken := c.child != nil
	if !taken {
		if err := c.open(ctx, call); err != nil {
			c.result = &Result{Agent: c.agent, Status: store.Failed}
			c.result.Fail(ctx, err)
			return
		}
	}
	switch {
	case taken:
		c.turn = c.child.ContinueBelow(ctx)
	case c.within != nil: // its caller says how long it runs
		c.turn = c.child.Begin(ctx, c.prompt)
	default:
		c.turn = c.child.BeginBelow(ctx, c.prompt)
	}
	if c.slot = c.service.slots.Try(c.parent.ID(), len(c.parent.Path())); c.slot != nil && !c.asksFirst {
		c.turn.Start()
	}
}

// locate finds the session that makes the call, and whether it may.
func (c *call) locate(call *tool.Call) error {
	s := c.service
	parent, ok := s.sessions.Live(call.SessionID)
	switch {
	case !ok:
		return fmt.Errorf("session %s does not run here", call.SessionID)
	case len(call.Values) == 0 || call.Values[0].Text != c.agent:
		return fmt.Errorf("the agent %q was not judged", c.agent)
	case c.in.Detached && parent.Agent() != "":
		return errors.New("detached is for hosts and agent files, and not for an agent's calls")
	case c.in.Cleanup == cleanUp && parent.Agent() != "":
		return errors.New("cleanup is for hosts and programs: an agent's call can't have what was done deleted")
	case c.err != nil:
		return c.err
	}
	if c.isDetached() && !c.def.Worktree && s.places.of(parent) != nil {
		return fmt.Errorf("the agent %q is detached, and can't work in the worktree of its caller, which ends before", c.agent)
	}
	c.parent = parent
	depth := len(parent.Path())
	if depth > s.limits.Depth {
		return fmt.Errorf("agents may nest %d deep, and this one already does", s.limits.Depth)
	}
	return nil
}

// open opens the child. call is not used for one that was taken over.
func (c *call) open(ctx context.Context, call *tool.Call) error {
	s := c.service
	if c.parent == nil {
		if err := c.locate(call); err != nil {
			return err
		}
	}
	spec, err := s.spec(c.def, len(c.parent.Path()))
	if err != nil {
		return err
	}
	if c.inBackground() && c.def.Timeout == 0 {
		spec.TimeLimit = s.limits.BackgroundTime
	}
	c.in.apply(c.def, &spec)
	spec.TimeLimit = s.limits.within(spec.TimeLimit)
	spec.Router = s.router
	if c.resumes != nil && c.resumes.taken != nil { // it goes on on the model that it has, whoever named that
		spec.Models = append([]string{c.resumes.record.Model}, spec.Models...)
	}
	if c.resumes != nil {
		c.resumes.begin(&spec)
	}
	if spec.Budget, err = s.budget(ctx, c); err != nil {
		return err
	}
	if err := c.settle(ctx, &spec); err != nil {
		return err
	}
	if err := c.narrow(&spec); err != nil {
		return errors.Join(err, c.abandon(ctx))
	}
	if err := c.reside(&spec); err != nil {
		return errors.Join(err, c.abandon(ctx))
	}
	if c.prompt, err = c.fork(&spec); err != nil {
		return errors.Join(err, c.abandon(ctx))
	}
	if !c.in.plain() {
		spec.Terms = newTerms(spec.Rules, &c.in)
	}
	if spec.Background, spec.Detached = c.inBackground(), c.isDetached(); !spec.Background {
		spec.Mover = c
	}
	spec.Nested = !c.def.Inspectable
	spec.Cleanup = c.in.Cleanup == cleanUp && (c.resumes == nil || c.resumes.taken != nil)
	spec.Parent, spec.Description = c.parent, c.in.Description
	spec.Checks = slices.Concat(spec.Checks, checksOf(c.in.Checks))
	if c.resumes != nil && c.resumes.taken != nil {
		c.child, err = s.sessions.GoOn(ctx, spec, c.resumes.taken, c.resumes.task)
	} else {
		spec.ParentMessageID, spec.ParentCallID = call.MessageID, call.ID
		if c.child, err = s.sessions.Open(ctx, spec); err == nil {
			err = c.shares(ctx)
		}
	}
	if err != nil {
		return errors.Join(err, c.abandon(ctx))
	}
	if c.def.PlanExit != "" {
		s.planning.Store(c.child.ID(), c)
	}
	if c.resumes != nil && c.resumes.assignment != (store.Assignment{}) {
		c.child.Assign(c.resumes.assignment)
	}
	if c.opened != nil {
		c.opened(c.child.ID())
	}
	return nil
}

// Run implements [tool.Prepared]: it runs the child, in the caller's own
// goroutine. Its frames are small: see [tool.Beginner].
func (c *call) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	if !c.begun {
		c.Begin(ctx, call)
	}
	if c.child != nil && c.ended == nil {
		c.moving.begin(call)
		c.conclude(ctx, c.runTurn())
	}
	return tool.Result{Text: c.result.Told(), IsError: c.result.Err != nil}, nil
}

// conclude ends the child, and tells its parent of that if it was moved to the background.
func (c *call) conclude(ctx context.Context, out *session.Outcome) {
	leave := c.moving.end()
	if leave != nil {
		defer leave()
	}
	c.result = &Result{Agent: c.agent}
	c.finish(ctx, c.result, out)
	if leave != nil {
		c.tellEnd(c.result)
	}
}

// runTurn runs the child's turn once it has a slot.
func (c *call) runTurn() *session.Outcome {
	defer c.vacate()
	if c.slot == nil {
		if out := c.wait(); out != nil {
			return out
		}
	}
	return c.turn.Run()
}

// vacate ends what [call.runTurn] has begun.
func (c *call) vacate() {
	c.moving.end()
	if c.slot != nil {
		c.slot.Release()
	}
}

// wait waits for a slot. Meanwhile the clocks of those above stand still, as long as they
// wait for the child. It returns the outcome of a turn that was cancelled before it had one;
// nil means it has.
func (c *call) wait() *session.Outcome {
	m := &c.moving
	m.mu.Lock()
	if m.leave == nil {
		m.hold = c.parent.HoldTime()
	}
	m.mu.Unlock()
	slot, err := c.service.slots.Wait(c.turn.Context(), c.parent.ID(), len(c.parent.Path()))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.release()
	if err != nil {
		c.turn.Release()
		return &session.Outcome{Status: store.Cancelled, Err: fmt.Errorf("the task was cancelled before it began: %w", err)}
	}
	if c.slot = slot; m.leave != nil {
		slot.SetBackground(c.agent, c.child.ID())
	}
	return nil
}

// finish ends the child, and fills in its result.
func (c *call) finish(ctx context.Context, r *Result, out *session.Outcome) {
	c.forsake(ctx)
	c.service.planning.Delete(c.child.ID())
	c.service.Look(c.child, out)
	c.leave(ctx, out)
	if err := c.child.End(out.Status, out.Err); err != nil {
		c.service.log.Error("ending a session", "session", c.child.ID(), "err", err)
		if out.Err == nil { // the answer must not be handed out with events missing
			*out = session.Outcome{Status: store.Failed, Err: err}
		}
	}
	r.SessionID = c.child.ID()
	r.Record = c.child.Record()
	r.Status = out.Status
	r.Duration = r.Record.Duration(time.Now())
	if out.Err != nil {
		r.Partial = out.Partial
		r.Fail(ctx, out.Err)
		return
	}
	r.Text = out.Text
}

package toolcall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/inbox"
	"github.com/agentworker/worker/session/toolset"
	"github.com/agentworker/worker/tool"
)

// admit looks up the tool of a call, reads the arguments and decides on the call. Then the
// call may run, or is over. Without wait it may be neither, if somebody has to be asked.
func (s *Calls) admit(ctx context.Context, c *Call, wait bool) {
	if c.start.IsZero() {
		c.start, c.given = time.Now(), c.Prepared != nil
	}
	if err := s.log.Over(); err != nil {
		c.End(s.Audit.refuseUndecided(c, "%s is refused, since %v", c.Name, err))
		return
	}
	if cause := context.Cause(ctx); errors.As(cause, new(inbox.InterruptedError)) {
		c.End(s.Audit.refuseUndecided(c, "%s was not run: %v", c.Name, cause))
		return
	}
	if c.tool = s.Tools.Get(c.Name); c.tool == nil {
		if t, ok := toolcatalog.Elsewhere(c.Name); ok && s.Tools.Get(t.Name) != nil {
			c.End(s.Audit.wrong(c, "there is no tool %q: call %s, which does that here", c.Name, t.Name))
			return
		}
		c.End(s.Audit.wrong(c, "there is no tool %q; the tools are: %s", c.Name, s.Tools.Known()))
		return
	}
	args := c.arguments(s.PutBack)
	if c.Prepared == nil {
		if err := checkObject(args); err != nil && c.CutAt != 0 {
			limit := "limit"
			if c.CutAt > 1 {
				limit = fmt.Sprintf("limit of %d tokens", c.CutAt)
			}
			c.End(s.Audit.wrong(c, "your call of %s was cut off at the output %s, and was not run: make it smaller, such as in several calls", c.Name, limit))
			return
		} else if err != nil {
			c.End(s.Audit.wrong(c, "the arguments of %s are not a JSON object: %s", c.Name, errtext.Of(err)))
			return
		}
	}
	layers, err := s.layers(c.tool)
	if err != nil {
		c.End(s.Audit.refuseUndecided(c, unreadable, c.Name, errtext.Of(err)))
		return
	}
	// A tool that is denied whatever its arguments gets no better hint.
	if name := toolset.Barred(layers, c.tool.Spec()); name != "" {
		every := []permission.Value{{Tool: name, Text: name}}
		decision := layers.Layers.Decide(every)
		s.Audit.note(s.Audit.decision(c, every, decision, layers))
		c.End(refuse("%s", decision.Reason()))
		return
	}
	if c.Prepared == nil {
		c.Prepared, err = tool.Prepare(c.tool, args)
	}
	var values []permission.Value
	if err == nil {
		values, err = c.Prepared.Values()
	}
	if err != nil {
		c.End(s.Audit.wrong(c, "%s is refused: %s", c.Name, errtext.Of(err)))
		return
	}
	action := layers.Decide(values).Action
	if !wait && (!c.follows() && action == permission.Ask || hooked{s}.has(c, values)) {
		return
	}
	if action != permission.Deny && (hooked{s}).askHooks(ctx, c, values) {
		s.admit(ctx, c, wait)
		return
	}
	if c.over {
		return
	}
	s.admitDecided(ctx, c, layers, values)
}

// unreadable is the refusal of a call whose rules can't be read.
const unreadable = "%s is refused, since the permission rules can't be read: %s"

// admitDecided decides on a call of these values.
func (s *Calls) admitDecided(ctx context.Context, c *Call, layers *gate.Layers, values []permission.Value) {
	verdict := s.decide(ctx, layers, c, values)
	if !verdict.allowed {
		c.End(verdict.refusal)
		return
	}
	if ctx.Err() != nil {
		c.End(notRun(c, context.Cause(ctx)))
		return
	}
	admitted := s.toolCall(c)
	admitted.Values, admitted.Rules, admitted.Approved = values, verdict.rules(c), verdict.approved
	admitted.Judge = func(ctx context.Context, value permission.Value) error { return s.decideLate(ctx, c.ID, value) }
	admitted.Readable = s.Readable(c.Name)
	admitted.Ask, admitted.Tell = asker(s, admitted), teller(s, c)
	c.admitted = admitted
}

// arguments are those of a call as its tool gets them. Credentials are put back for tools that hand nothing
// on.
func (c *Call) arguments(putBack func(string) string) json.RawMessage {
	if putBack == nil || c.tool == nil || !c.tool.Spec().Local {
		return json.RawMessage(c.Arguments)
	}
	return json.RawMessage(putBack(c.Arguments))
}

// toolCall is the call as its tool gets it.
func (s *Calls) toolCall(c *Call) *tool.Call {
	r := s.log.Record()
	return &tool.Call{ID: c.ID, SessionID: s.log.ID, Agent: r.Agent, Began: r.CreatedAt, MessageID: c.MessageID, Step: c.step, Traceparent: r.Traceparent, Args: c.arguments(s.PutBack), Caller: c, Background: s.Background}
}

// run runs a call within its time limit. Its frame is small, because thousands of calls may
// wait there, each with the stack of a goroutine.
func (s *Calls) run(ctx context.Context, c *Call) {
	defer s.guard(c)
	ctx, cancel, ready := s.ready(ctx, c)
	if !ready {
		return
	}
	defer cancel()
	res, err := c.Prepared.Run(ctx, c.admitted)
	c.ran(ctx, &res, err)
}

// ran makes what the tool has returned the outcome of the call.
func (c *Call) ran(ctx context.Context, res *tool.Result, err error) {
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		*res = tool.Errorf("%s: %s", c.Name, errtext.Of(err))
	}
	c.End(Result{Result: *res})
}

// ready returns the context of a call that is to run; otherwise the call is over.
func (s *Calls) ready(ctx context.Context, c *Call) (_ context.Context, cancel context.CancelFunc, ready bool) {
	spec := c.tool.Spec()
	if !spec.ReadOnly && !spec.Delegates {
		if err := s.log.Flush(ctx); err != nil { // the log says that a change has begun, before it does
			c.End(notRun(c, err))
			return nil, nil, false
		}
	}
	c.untold = !spec.ReadOnly && !spec.Delegates && !spec.TellsChanges && spec.Follows == ""
	if spec.OwnTimeLimit {
		return ctx, func() {}, true
	}
	ctx, cancel = context.WithTimeoutCause(ctx, s.p.ToolTime, toolTimeout(s.p.ToolTime))
	return ctx, cancel, true
}

// toolTimeout is the error of a call whose time is over.
type toolTimeout time.Duration

func (t toolTimeout) Error() string {
	return fmt.Sprintf("its time limit of %s has passed", errtext.Duration(time.Duration(t)))
}

func notRun(c *Call, why error) Result {
	return Result{Result: tool.Errorf("%s was not run: %s", c.Name, errtext.Of(why))}
}

func refuse(format string, args ...any) Result {
	return Result{Result: tool.Errorf(format, args...), Refused: true}
}

func checkObject(args json.RawMessage) error {
	if json.Valid(args) && bytes.HasPrefix(bytes.TrimLeft(args, " \t\r\n"), []byte{'{'}) {
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(args, &object); err != nil {
		return err
	}
	if object == nil {
		return errors.New("they are null")
	}
	return nil
}

package taskt

import (
	"context"
	"errors"

	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/tool"
)

// beginBackground opens the child and runs it in the background of its parent, whose End waits
// for it. It does not wait for a slot.
func (c *call) beginBackground(ctx context.Context, made *tool.Call) error {
	if err := c.locate(made); err != nil {
		return err
	}
	child, pool := c.child, c.service.slots
	parentID, depth := child.parent.ID(), len(child.parent.Path())
	if child.slot = pool.Try(parentID, depth); child.slot == nil {
		return pool.Full(parentID, depth)
	}
	if err := child.open(ctx, made); err != nil {
		child.slot.Release()
		return err
	}
	child.slot.SetBackground(c.req.Agent, child.ID())
	c.wait.ended = make(chan struct{})
	if err := c.goBackground(); err != nil {
		child.slot.Release()
		child.Abandon(ctx, err)
		c.wait.result = c.wait.final
		return nil
	}
	c.wait.result = &Result{
		Agent: c.req.Agent, SessionID: child.ID(), Status: control.Accepted, Record: child.Record(),
		Text: accepted(child.ID(), child.parent.Agent() != "", false),
	}
	return nil
}

// goBackground runs the child in the background of its parent, or apart from it if the child is
// detached.
func (c *call) goBackground() error {
	if c.req.detached() {
		return c.service.detached.begin(c.runBackground)
	}
	return c.child.parent.Go(c.runBackground)
}

func (c *call) runBackground(ctx context.Context) {
	if host := c.wait.host; host != nil && !c.req.detached() {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(host.ctx, func() { cancel(context.Cause(host.ctx)) })()
	}
	c.child.Run(ctx)
}

// awaitBackground returns the result of a child in the background. For a detached one it waits
// no longer than the caller's session runs.
func (c *call) awaitBackground(ctx context.Context, caller *session.Session) *Result {
	var alone <-chan struct{} // nil means the child ends with the caller
	if c.req.detached() {
		bound, release := caller.Bound(ctx)
		defer release()
		alone = bound.Done()
	}
	select {
	case <-c.wait.ended:
		return c.wait.final
	case <-alone:
		result := &Result{Agent: c.req.Agent, SessionID: c.child.ID(), Record: c.wait.result.Record, Status: record.Cancelled}
		result.Fail(ctx, errors.New("its caller has ended, and the subagent runs on"))
		return result
	}
}

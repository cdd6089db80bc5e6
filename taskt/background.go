package taskt

import (
	"context"
	"fmt"
	"sync"

	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/taskt/slots"
	"github.com/agentworker/worker/tool"
)

// inBackground reports whether the call returns before its subagent has ended.
func (c *call) inBackground() bool {
	if c.in.Background != nil {
		return *c.in.Background
	}
	return c.in.Detached || c.def != nil && (c.def.Background || c.def.Detached)
}

// isDetached reports whether the subagent goes on when its caller ends.
func (c *call) isDetached() bool {
	return c.inBackground() && (c.in.Detached || c.def != nil && c.def.Detached)
}

// InBackground reports whether a host's call returns before its subagent has ended:
// because it says so, or the agent's file does.
func (s *Service) InBackground(in Input) bool {
	return s.prepare(host, in).inBackground()
}

// beginBeside opens the child and runs it beside its parent, whose End waits for it.
// It does not wait for a slot.
func (c *call) beginBeside(ctx context.Context, call *tool.Call) error {
	if err := c.locate(call); err != nil {
		return err
	}
	pool, depth := c.service.slots, len(c.parent.Path())
	if c.slot = pool.Try(c.parent.ID(), depth); c.slot == nil {
		return pool.Full(c.parent.ID(), depth)
	}
	if err := c.open(ctx, call); err != nil {
		c.slot.Release()
		return err
	}
	c.slot.SetBackground(c.agent, c.child.ID())
	c.ended = make(chan struct{})
	begin := c.parent.Go
	if c.isDetached() {
		begin = c.service.detached.begin
	}
	if err := begin(c.runBeside); err != nil {
		c.slot.Release()
		close(c.ended)
		c.final = c.result
		c.finish(ctx, c.result, &session.Outcome{Status: store.Cancelled, Err: err})
		return nil
	}
	c.result.SessionID, c.result.Status, c.result.Record = c.child.ID(), control.Accepted, c.child.Record()
	c.result.Text = accepted(c.child.ID(), c.parent.Agent() != "", false)
	return nil
}

// runBeside runs the child, and tells its parent how it has ended.
func (c *call) runBeside(ctx context.Context) {
	if c.within != nil && !c.isDetached() {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(c.within, func() { cancel(context.Cause(c.within)) })()
	}
	out := c.child.Begin(ctx, c.prompt).Run()
	c.slot.Release()
	c.over(ctx, out)
}

// over ends the child, and tells its parent of that.
func (c *call) over(ctx context.Context, out *session.Outcome) {
	defer close(c.ended)
	c.final = &Result{Agent: c.agent}
	c.finish(ctx, c.final, out)
	c.tellEnd(c.final)
}

// tellEnd tells the parent how the child has ended.
func (c *call) tellEnd(r *Result) {
	if r.Err != nil || !store.Skipped(r.Text) {
		c.parent.Notify(store.NoticeID(r.SessionID), c.service.ended(r))
	}
}

// detached are the subagents that run apart from their callers.
type detached struct {
	mu      sync.Mutex
	ctx     context.Context // ends with close; nil means nothing has begun
	cancel  context.CancelCauseFunc
	closed  bool
	running sync.WaitGroup
}

func (d *detached) begin(f func(ctx context.Context)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return slots.ErrClosed
	}
	if d.ctx == nil {
		d.ctx, d.cancel = context.WithCancelCause(context.Background())
	}
	d.running.Go(func() { f(d.ctx) })
	return nil
}

// Close ends the subagents that run apart from their callers, and returns when they
// have ended. No further ones begin.
func (s *Service) Close() {
	d := &s.detached
	d.mu.Lock()
	d.closed = true
	if d.cancel != nil {
		d.cancel(cancelled("the worker has ended"))
	}
	d.mu.Unlock()
	d.running.Wait()
}

// knows notes that a session was told of the ends of children by the result of a call.
func (s *Service) knows(call *tool.Call, children []string) {
	parent, ok := s.sessions.Live(call.SessionID)
	if !ok {
		return
	}
	ids := make([]string, len(children))
	for i, id := range children {
		ids[i] = store.NoticeID(id)
	}
	parent.Knows(call.ID, ids...)
}

// accepted is what the caller reads of a subagent in the background. told: its end comes
// as a message; moved: it was not there from the beginning.
func accepted(childID string, told, moved bool) string {
	then := "task_wait waits for it, and task_result has its answer then."
	if told {
		then = "Its result comes to you as a message when it has ended: go on with other work, or call task_wait to wait for it."
	}
	if moved {
		then = "The user has moved it to the background, where it goes on. " + then
	}
	return fmt.Sprintf("{\"status\": %q, \"sessionId\": %q}\n%s", control.Accepted, childID, then)
}

// ended is what the caller's model reads when a subagent in the background has
// ended.
func (s *Service) ended(r *Result) string {
	if r.Err != nil && r.Partial == "" && r.Record.Work.ToolCalls > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), flushTime)
		defer cancel()
		state, err := s.sessions.Store().State(ctx, r.Record.Path)
		if err != nil {
			s.log.Warn("reading the latest tool result of a session", "session", r.SessionID, "err", err)
		} else {
			r = &Result{Agent: r.Agent, SessionID: r.SessionID, Status: r.Status, Text: state.Latest(r.Text), Err: r.Err, Record: r.Record}
		}
	}
	return store.EndMessage(&r.Record, r.Status, r.Told())
}

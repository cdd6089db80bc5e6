package taskt

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/taskt/offer"
)

// Run is a host's call of task that has begun. It goes on whether or not anybody waits for it.
type Run struct {
	host
	agent      string
	background bool // it began there
	cancel     context.CancelCauseFunc
	done       chan struct{} // closed: result is set
	result     *Result
}

// Start begins a task call in a caller's root session, and returns when its child is open, or
// when the call has ended without one. The call runs until its result, [Run.Cancel] or the end
// of ctx. The caller waits for [Run.Done] before it ends its session.
func (s *Service) Start(ctx context.Context, caller *session.Session, in Input) *Run {
	return s.prepare(offer.Host, in).start(ctx, caller, nil)
}

// errStays is why the child of [Service.Call] is not moved to the background.
var errStays = errors.New("the command that has started it waits for its end, and would end it")

// Call makes a task call in a caller's root session, and returns its result once all events of
// the child are stored. The result is never nil. The child is not moved to the background.
func (s *Service) Call(ctx context.Context, caller *session.Session, in Input) *Result {
	r := s.prepare(offer.Host, in).start(ctx, caller, errStays)
	<-r.Done()
	return r.Result()
}

// InBackground reports whether a host's call returns before its subagent has ended.
func (s *Service) InBackground(in Input) bool {
	return newRequest(s.offers.Current(), offer.Host, in).background()
}

// start begins a call that is prepared.
func (c *call) start(ctx context.Context, caller *session.Session, stays error) *Run {
	r := &Run{
		host:  host{stays: stays, opened: make(chan struct{}), moved: make(chan struct{})},
		agent: c.req.Agent, background: c.req.background(), done: make(chan struct{}),
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	c.wait.host = &r.host
	r.left = func() { c.service.awaited.remove(r) }
	if err := c.service.awaited.add(r); err != nil {
		r.cancel(nil)
		return failedRun(ctx, r.agent, err)
	}
	go func() {
		defer r.cancel(nil)
		defer close(r.done)
		defer r.left()
		r.result = c.makeIn(r.ctx, caller)
		if c.wait.ended != nil {
			r.result = c.awaitBackground(r.ctx, caller)
		}
	}()
	select {
	case <-r.opened:
	case <-r.done:
	}
	return r
}

// makeIn makes the call in a caller's session.
func (c *call) makeIn(ctx context.Context, caller *session.Session) *Result {
	args, err := json.Marshal(c.req.in)
	var res session.CallResult
	if err == nil {
		res, err = caller.Do(ctx, toolcatalog.Task, args, c)
	}
	switch {
	case err == nil && c.wait.result != nil:
		return c.wait.result
	case err == nil:
		err = errors.New(res.Text)
	}
	result := &Result{Agent: c.req.Agent, Status: record.Failed, Text: err.Error(), Err: err, Refused: res.Refused}
	if ctx.Err() != nil || errors.Is(err, context.Canceled) { // or the caller's session is stopped
		result.Status = record.Cancelled
	}
	return result
}

// failedRun is a run that has failed before it began.
func failedRun(ctx context.Context, agent string, err error) *Run {
	r := &Run{agent: agent, cancel: func(error) {}, done: make(chan struct{}), result: &Result{Agent: agent, Status: record.Failed}}
	r.result.Fail(ctx, err)
	close(r.done)
	return r
}

// Agent returns the name of the agent that the call means, or the name in the call if no such
// agent exists.
func (r *Run) Agent() string { return r.agent }

// SessionID returns the child's id. Empty means the call is over, and has opened none.
func (r *Run) SessionID() string { return r.childID }

// Accepted returns what the caller of a run in the background gets at once. nil means it does
// not run there, or no child was opened.
func (r *Run) Accepted() *Result {
	moved := false
	select {
	case <-r.moved:
		moved = true
	default:
	}
	if !moved && !r.background || r.childID == "" {
		return nil
	}
	return &Result{Agent: r.agent, SessionID: r.childID, Status: control.Accepted, Text: accepted(r.childID, false, moved)}
}

// Moved is closed when the run was moved to the background.
func (r *Run) Moved() <-chan struct{} { return r.moved }

// Done is closed when the result is known.
func (r *Run) Done() <-chan struct{} { return r.done }

// Result returns the result, never nil, once Done is closed.
func (r *Run) Result() *Result { return r.result }

// Cancel stops the child. reason says why, as part of a sentence. The result follows when all
// that the child has started has ended. Only the first call counts.
func (r *Run) Cancel(reason string) { r.cancel(cancelled(reason)) }

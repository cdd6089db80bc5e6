package taskt

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/control"
)

// Run is a task call that has begun, and goes on whether or not anybody waits
// for it.
type Run struct {
	agent  string
	cancel context.CancelCauseFunc
	beside bool          // it runs in the background
	opened chan struct{} // closed: child is set
	moved  chan struct{} // closed: it was moved to the background
	done   chan struct{} // closed: result is set
	child  string
	result *Result
}

// Start begins a task call in a caller's root session, and returns when its
// child is open, or the call has ended without one. It runs until its result,
// [Run.Cancel] or the end of ctx. The caller waits for [Run.Done] before it
// ends its session.
func (s *Service) Start(ctx context.Context, caller *session.Session, in Input) *Run {
	return s.prepare(host, in).start(ctx, caller)
}

// start is [Service.Start] for a call that is prepared.
func (c *call) start(ctx context.Context, caller *session.Session) *Run {
	r := &Run{agent: c.agent, beside: c.inBackground(), opened: make(chan struct{}), moved: make(chan struct{}), done: make(chan struct{})}
	c.moving.moved = r.moved
	c.opened = func(childID string) {
		r.child = childID
		close(r.opened)
	}
	ctx, r.cancel = context.WithCancelCause(ctx)
	c.within = ctx
	go func() {
		defer r.cancel(nil)
		defer close(r.done)
		r.result = c.of(ctx, caller)
		if c.ended != nil {
			r.result = c.outlast(ctx, caller)
		}
	}()
	select {
	case <-r.opened:
	case <-r.done:
	}
	return r
}

// outlast returns the result of a child in the background, once it has ended. Of one
// that is detached it waits no longer than the caller's session is there.
func (c *call) outlast(ctx context.Context, caller *session.Session) *Result {
	var alone <-chan struct{} // nil means the child ends with the caller
	if c.isDetached() {
		bound, release := caller.Bound(ctx)
		defer release()
		alone = bound.Done()
	}
	select {
	case <-c.ended:
		return c.final
	case <-alone:
		result := &Result{Agent: c.agent, SessionID: c.result.SessionID, Record: c.result.Record, Status: store.Cancelled}
		result.Fail(ctx, errors.New("its caller has ended, and the subagent runs on"))
		return result
	}
}

// Call makes a task call in a caller's root session and returns its result
// once all of the child's events are stored. The result is never nil. The child is not
// moved to the background.
func (s *Service) Call(ctx context.Context, caller *session.Session, in Input) *Result {
	c := s.prepare(host, in)
	c.stays = true
	r := c.start(ctx, caller)
	<-r.Done()
	return r.Result()
}

// Agent returns the name of the agent that the call means, or the name in the
// call if no such agent exists.
func (r *Run) Agent() string { return r.agent }

// SessionID returns the child's id; empty if no child was opened and the call is over.
func (r *Run) SessionID() string { return r.child }

// Accepted returns what the caller of a run in the background gets at once; nil means it
// does not run there, or no child was opened.
func (r *Run) Accepted() *Result {
	moved := false
	select {
	case <-r.moved:
		moved = true
	default:
	}
	if !moved && !r.beside || r.child == "" {
		return nil
	}
	return &Result{Agent: r.agent, SessionID: r.child, Status: control.Accepted, Text: accepted(r.child, false, moved)}
}

// Moved is closed when the run was moved to the background.
func (r *Run) Moved() <-chan struct{} { return r.moved }

// Done is closed when the result is known.
func (r *Run) Done() <-chan struct{} { return r.done }

// Result returns the result, never nil, once Done is closed.
func (r *Run) Result() *Result { return r.result }

// Cancel stops the child. reason says why, as part of a sentence; the result
// follows when everything that the child has started has ended. Only the first
// call counts.
func (r *Run) Cancel(reason string) { r.cancel(cancelled(reason)) }

// cancelled is the cause of the end of a run that was cancelled with a reason.
type cancelled string

func (c cancelled) Error() string { return string(c) }

// Is reports whether target is [context.Canceled].
func (cancelled) Is(target error) bool { return target == context.Canceled }

// of makes the call in a caller's session.
func (c *call) of(ctx context.Context, caller *session.Session) *Result {
	args, err := json.Marshal(c.in)
	var res session.CallResult
	if err == nil {
		res, err = caller.Do(ctx, toolName, args, c)
	}
	switch {
	case err == nil && c.result != nil:
		return c.result
	case err == nil:
		err = errors.New(res.Text)
	}
	result := &Result{Agent: c.agent, Status: store.Failed, Text: err.Error(), Err: err, Refused: res.Refused}
	if ctx.Err() != nil || errors.Is(err, context.Canceled) { // or the caller's session is stopped
		result.Status = store.Cancelled
	}
	return result
}

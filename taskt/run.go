package taskt

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/agentworker/worker/session"
)

// Run is a task call that has begun, and goes on whether or not anybody waits
// for it.
type Run struct {
	callerID string
	agent    string
	cancel   context.CancelCauseFunc
	opened   chan struct{} // closed: child is set, or there will be none
	done     chan struct{} // closed: result is set
	child    string
	result   *Result
}

// Start begins a task call in a caller's root session, and returns when its
// child is open, or the call has ended without one. It runs until its result,
// [Run.Cancel] or the end of ctx. The caller waits for [Run.Done] before it
// ends its session.
func (s *Service) Start(ctx context.Context, caller *session.Session, in Input) *Run {
	r := &Run{callerID: caller.ID(), agent: s.nameOf(in.AgentType), opened: make(chan struct{}), done: make(chan struct{})}
	ctx, r.cancel = context.WithCancelCause(ctx)
	go func() {
		defer r.cancel(nil)
		defer close(r.done)
		r.result = s.call(ctx, caller, in, r)
	}()
	select {
	case <-r.opened:
	case <-r.done:
	}
	return r
}

// Call makes a task call in a caller's root session and returns its result
// once all of the child's events are stored. The result is never nil.
func (s *Service) Call(ctx context.Context, caller *session.Session, in Input) *Result {
	r := s.Start(ctx, caller, in)
	<-r.Done()
	return r.Result()
}

// Agent returns the name of the agent that the call means, or the name that it
// gives where there is none.
func (r *Run) Agent() string { return r.agent }

// SessionID returns the child's id; empty: there is none, and the call is over.
func (r *Run) SessionID() string { return r.child }

// Done is closed when there is a result.
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

// runKey is under which the context of a caller's tool call has its [Run].
type runKey struct{}

// open tells whoever has started the run in ctx that its child is open. A call
// that a child makes in the same context is another one.
func open(ctx context.Context, parentID, childID string) {
	r, ok := ctx.Value(runKey{}).(*Run)
	if !ok || r.callerID != parentID {
		return
	}
	r.child = childID
	close(r.opened)
}

// call makes the call that r stands for.
func (s *Service) call(ctx context.Context, caller *session.Session, in Input, r *Run) *Result {
	failed := func(err error, refused bool) *Result {
		return &Result{Agent: r.agent, Status: session.Failed, Text: err.Error(), Err: err, Refused: refused}
	}
	args, err := json.Marshal(in)
	if err != nil {
		return failed(err, false)
	}
	res, err := caller.Call(context.WithValue(ctx, runKey{}, r), toolName, args)
	if result, ok := res.Meta[metaResult].(*Result); ok && err == nil {
		return result
	}
	if err == nil {
		err = errors.New(res.Text)
	}
	result := failed(err, res.Refused)
	if ctx.Err() != nil || errors.Is(err, context.Canceled) { // or the caller's session is stopped
		result.Status = session.Cancelled
	}
	return result
}

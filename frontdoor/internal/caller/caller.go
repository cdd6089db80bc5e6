// Package caller runs the task calls that come in through a front door. Each has a root
// session of its own, and their number is bounded. When the door shuts, it cancels them and
// waits for them.
package caller

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/slots"
)

// Pool holds the calls of a front door. A call has a place while its caller waits for the
// answer.
type Pool struct {
	tasks  *taskt.Service
	log    *slog.Logger
	ctx    context.Context // ends with Close, and all calls with it
	cancel context.CancelFunc

	mu     sync.Mutex
	free   int
	closed bool
	calls  sync.WaitGroup
}

// New returns a pool of size places. Close it.
func New(tasks *taskt.Service, size int, log *slog.Logger) *Pool {
	p := &Pool{tasks: tasks, log: log, free: size}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Close refuses further calls, cancels the running ones, and returns when all of them are
// done.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.calls.Wait()
}

// Closed reports whether the pool takes no more calls.
func (p *Pool) Closed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed || p.tasks.Draining()
}

// Call is one call: Open its session, Run it, and when its caller has the
// answer it is Done.
type Call struct {
	pool   *Pool
	ctx    context.Context
	unlink func() bool // has it go on when ctx of Begin ends
	stop   func()
	root   *session.Session

	place bool // whether it holds one of the pool's; its mutex guards it
}

// Begin takes a place for a call that ends with ctx or with the pool. Where
// there is none it returns [ErrBusy] or [ErrClosed]; it never waits.
func (p *Pool) Begin(ctx context.Context) (*Call, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed || p.tasks.Draining():
		return nil, ErrClosed
	case p.free == 0:
		return nil, ErrBusy
	}
	p.free--
	p.calls.Add(1)
	of, cancel := context.WithCancel(p.ctx)
	unlink := context.AfterFunc(ctx, cancel)
	return &Call{pool: p, place: true, ctx: of, unlink: unlink, stop: func() { unlink(); cancel() }}, nil
}

// Context ends with ctx of Begin, and with the pool.
func (c *Call) Context() context.Context { return c.ctx }

// Done ends the call, and gives its place back.
func (c *Call) Done() {
	c.stop()
	c.leave()
	c.pool.calls.Done()
}

// leave gives the call's place back: its caller has an answer. The pool waits for the call
// all the same.
func (c *Call) leave() {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	if c.place {
		c.place = false
		c.pool.free++
	}
}

// By is who does something through a door.
type By struct {
	Text   string // for people
	Person record.Person
}

// Open opens the root session of the caller. Run ends it.
func (c *Call) Open(by By) (*session.Session, error) {
	root, err := c.pool.tasks.OpenCaller(c.ctx, by.Text, by.Person)
	if err != nil {
		if c.pool.ctx.Err() != nil {
			return nil, ErrClosed
		}
		return nil, err
	}
	c.root = root
	return root, nil
}

// Start makes a call in the background, and returns what its caller gets at once. finish
// returns when the subagent and the root session have ended; it is never nil. Without a
// free slot the error is [slots.ErrFull].
func (c *Call) Start(in taskt.Input) (result *taskt.Result, finish func(), err error) {
	return c.finish(c.pool.tasks.Start(c.ctx, c.root, in))
}

// finish is Start for a call that has begun.
func (c *Call) finish(run *taskt.Run) (result *taskt.Result, finish func(), err error) {
	result = run.Accepted()
	if result == nil { // it goes no further
		<-run.Done()
		result = c.end(run.Result())
		if errors.Is(result.Err, slots.ErrFull) {
			return nil, func() {}, result.Err
		}
		return result, func() {}, nil
	}
	result.Record.ParentID = c.root.ID()
	c.leave() // what works on is bounded by the slots of children
	return result, func() {
		<-run.Done()
		c.end(run.Result())
	}, nil
}

// Run makes the call and returns its result once all events of the child and of the
// root session are stored.
func (c *Call) Run(in taskt.Input) *taskt.Result {
	run := c.pool.tasks.Start(c.ctx, c.root, in)
	<-run.Done()
	return c.end(run.Result())
}

// Wait is Run for a caller that gets its answer at once where the subagent is moved to
// the background. Then the call does not end with its caller any more. finish is as in
// Start.
func (c *Call) Wait(in taskt.Input) (result *taskt.Result, finish func()) {
	run := c.pool.tasks.Start(c.ctx, c.root, in)
	select {
	case <-run.Done():
		return c.end(run.Result()), func() {}
	case <-run.Moved():
		c.unlink()
		result, finish, _ = c.finish(run) // it has begun: there is no error
		return result, finish
	}
}

// end ends the root session of a call.
func (c *Call) end(result *taskt.Result) *taskt.Result {
	if err := c.root.End(result.Status, result.Err); err != nil && !c.root.HandedOver() {
		c.pool.log.Error("ending a caller's session", "session", c.root.ID(), "err", err)
		if result.Err == nil { // no answer is handed out with events missing
			result.Status, result.Text, result.Err = record.Failed, err.Error(), err
		}
	}
	return result
}

package natsservice

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/taskt"
)

// The workers of a workspace share its task calls. NATS gives a call to any of
// them, whether or not it has a free slot. A worker without one hands the call on,
// below the subject agents.v1.WS.workers, where only workers may publish:
//
//   - A worker with a free slot takes part in the queue group of "take". A call handed on has
//     the caller's reply subject in replyHeader; the answer is "taken", or "full"
//     from a worker that has none left.
//   - If no worker has one, none answers. Then the call waits with the worker that
//     got it: for a slot there, or for another worker to say on "free" that it has
//     one.
const (
	takeSuffix  = ".take"
	freeSuffix  = ".free"
	replyHeader = "Agent-Caller-Reply"
	queueGroup  = "workers"

	taken = "taken"
	full  = "full"

	// takeTimeout is how long another worker may take to say that it takes a
	// call. It is gone then, or cut off, and whether it runs the call is not
	// known: it is not handed to a second one.
	takeTimeout = 10 * time.Second

	// lookAgain is how often a call that waits looks for a slot unasked: one of
	// another front door may have ended here, and a message may have been lost.
	lookAgain = time.Second

	// offers bounds how often a call is offered in a row to workers that have
	// just become full.
	offers = 8
)

// errHandedOn is the answer to a call that was handed on to a silent worker.
var errHandedOn = &caller.Error{Status: 503, Code: "lost", Message: "the worker that the call was handed to does not answer: whether it runs is not known"}

// capacity counts a worker's slots for calls, and hands calls on when all are
// taken.
type capacity struct {
	conn    *nats.Conn
	subject string
	load    func() taskt.Load
	take    func(*request) error // runs a call that was handed on; it leaves
	log     *slog.Logger
	ctx     context.Context // ends with close
	cancel  context.CancelFunc
	turn    chan struct{} // held by the one call that looks for a slot

	mu    sync.Mutex
	calls int                // calls with a slot here
	sub   *nats.Subscription // to takeSuffix, while a slot is free
	free  *nats.Subscription
	freed chan struct{} // closed when there may be a slot, here or elsewhere
}

func newCapacity(conn *nats.Conn, subject string, load func() taskt.Load, take func(*request) error, log *slog.Logger) *capacity {
	c := &capacity{conn: conn, subject: subject, load: load, take: take, log: log, turn: make(chan struct{}, 1), freed: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// open begins to take calls from other workers.
func (c *capacity) open() (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.free, err = c.conn.Subscribe(c.subject+freeSuffix, func(*nats.Msg) { c.wake() }); err != nil {
		return err
	}
	return c.show()
}

// close takes no more of them, and sends away those that wait here.
func (c *capacity) close() error {
	c.cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, sub := range []*nats.Subscription{c.free, c.sub} {
		if sub != nil {
			errs = append(errs, sub.Drain())
		}
	}
	c.free, c.sub = nil, nil
	return errors.Join(errs...)
}

// enter finds a slot for a call. here: it is in this process, and wants leave;
// else another worker has the call, and answers it.
func (c *capacity) enter(req *request) (here bool, err error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-c.ctx.Done():
		return false, caller.ErrClosed
	}
	for {
		c.mu.Lock()
		freed := c.freed
		c.mu.Unlock()
		if c.reserve() {
			return true, nil
		}
		if gone, err := c.handOn(req); gone || err != nil {
			return false, err
		}
		again := time.NewTimer(lookAgain)
		select {
		case <-freed:
		case <-again.C:
		case <-c.ctx.Done():
			again.Stop()
			return false, caller.ErrClosed
		}
		again.Stop()
	}
}

// handOn offers a call to the workers with a free slot, and reports whether one
// has taken it.
func (c *capacity) handOn(req *request) (gone bool, err error) {
	msg := &nats.Msg{Subject: c.subject + takeSuffix, Header: nats.Header{}, Data: req.data}
	for name, values := range req.header {
		msg.Header[name] = values
	}
	msg.Header.Set(replyHeader, req.reply)
	for range offers {
		ctx, cancel := context.WithTimeout(c.ctx, takeTimeout)
		answer, err := c.conn.RequestMsgWithContext(ctx, msg)
		cancel()
		switch {
		case errors.Is(err, nats.ErrNoResponders):
			return false, nil
		case err != nil && c.ctx.Err() != nil:
			return false, caller.ErrClosed
		case err != nil:
			c.log.Warn("handing a call on", "err", err)
			return false, errHandedOn
		case string(answer.Data) == taken:
			return true, nil
		}
	}
	return false, nil
}

// handed takes a call that another worker hands on, if a slot is still free.
func (c *capacity) handed(msg *nats.Msg) {
	req := &request{msg.Subject, msg.Header.Get(replyHeader), msg.Header, msg.Data}
	answer := full
	if answerable(req.reply) && c.reserve() {
		if err := c.take(req); err == nil {
			answer = taken
		} else {
			c.leave()
		}
	}
	if err := msg.Respond([]byte(answer)); err != nil {
		c.log.Error("answering a worker that hands a call on", "err", err)
	}
}

// reserve takes a slot, if one is free.
func (c *capacity) reserve() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := c.left()
	if got {
		c.calls++
	}
	c.showOrLog()
	return got
}

// leave gives a slot back.
func (c *capacity) leave() {
	c.mu.Lock()
	c.calls--
	c.showOrLog()
	c.mu.Unlock()
	c.wake()
}

// wake makes the waiting call look for a slot.
func (c *capacity) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.freed)
	c.freed = make(chan struct{})
}

// left reports whether a slot is free. Calls of other front doors take slots, too.
func (c *capacity) left() bool {
	load := c.load()
	return c.ctx.Err() == nil && max(c.calls, load.Running+load.Queued) < load.Capacity
}

func (c *capacity) showOrLog() {
	if err := c.show(); err != nil && c.ctx.Err() == nil {
		c.log.Error("telling other workers of free slots", "err", err)
	}
}

// show tells the other workers whether a slot is free here.
func (c *capacity) show() error {
	switch left := c.left(); {
	case left && c.sub == nil:
		sub, err := c.conn.QueueSubscribe(c.subject+takeSuffix, queueGroup, c.handed)
		if err != nil {
			return err
		}
		c.sub = sub
		return c.conn.Publish(c.subject+freeSuffix, nil)
	case !left && c.sub != nil:
		sub := c.sub
		c.sub = nil
		return sub.Drain() // what is on its way is answered
	}
	return nil
}

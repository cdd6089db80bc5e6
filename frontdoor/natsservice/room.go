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
// them, whether or not it has room. One that has none hands the call on, below
// the subject agents.v1.WS.workers, where only workers may publish:
//
//   - Who has room takes part in the queue group of "take". A call handed on has
//     the caller's reply subject in replyHeader; the answer is "taken", or "full"
//     from a worker that has none left.
//   - Where nobody has room, nobody answers. Then the call waits with the worker
//     that got it: for a place there, or for another worker to say on "free" that
//     it has one.
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

	// lookAgain is how often a call that waits looks for a place unasked: one of
	// another front door may have ended here, and a message may have been lost.
	lookAgain = time.Second

	// offers bounds how often a call is offered in a row to workers that have
	// just become full.
	offers = 8
)

// errHandedOn is the answer to a call whose further way is not known.
var errHandedOn = &caller.Error{Status: 503, Code: "lost", Message: "the worker that the call was handed to does not answer: whether it runs is not known"}

// room is what a worker has of places to run calls in.
type room struct {
	conn    *nats.Conn
	subject string
	load    func() taskt.Load
	take    func(*request) error // runs a call that was handed on; it leaves
	log     *slog.Logger
	ctx     context.Context // ends with close
	cancel  context.CancelFunc
	turn    chan struct{} // held by the one call that looks for a place

	mu    sync.Mutex
	calls int                // that have a place here
	sub   *nats.Subscription // to takeSuffix, while there is room
	free  *nats.Subscription
	freed chan struct{} // closed when there may be a place, here or elsewhere
}

func newRoom(conn *nats.Conn, subject string, load func() taskt.Load, take func(*request) error, log *slog.Logger) *room {
	r := &room{conn: conn, subject: subject, load: load, take: take, log: log, turn: make(chan struct{}, 1), freed: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// open begins to take calls from other workers.
func (r *room) open() (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.free, err = r.conn.Subscribe(r.subject+freeSuffix, func(*nats.Msg) { r.wake() }); err != nil {
		return err
	}
	return r.show()
}

// close takes no more of them, and sends away those that wait here.
func (r *room) close() error {
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, sub := range []*nats.Subscription{r.free, r.sub} {
		if sub != nil {
			errs = append(errs, sub.Drain())
		}
	}
	r.free, r.sub = nil, nil
	return errors.Join(errs...)
}

// enter finds a place for a call. here: it is in this process, and wants leave;
// else another worker has the call, and answers it.
func (r *room) enter(req *request) (here bool, err error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-r.ctx.Done():
		return false, caller.ErrClosed
	}
	for {
		r.mu.Lock()
		freed := r.freed
		r.mu.Unlock()
		if r.reserve() {
			return true, nil
		}
		if gone, err := r.handOn(req); gone || err != nil {
			return false, err
		}
		again := time.NewTimer(lookAgain)
		select {
		case <-freed:
		case <-again.C:
		case <-r.ctx.Done():
			again.Stop()
			return false, caller.ErrClosed
		}
		again.Stop()
	}
}

// handOn offers a call to the workers that have room, and reports whether one
// has taken it.
func (r *room) handOn(req *request) (gone bool, err error) {
	msg := &nats.Msg{Subject: r.subject + takeSuffix, Header: nats.Header{}, Data: req.data}
	for name, values := range req.header {
		msg.Header[name] = values
	}
	msg.Header.Set(replyHeader, req.reply)
	for range offers {
		ctx, cancel := context.WithTimeout(r.ctx, takeTimeout)
		answer, err := r.conn.RequestMsgWithContext(ctx, msg)
		cancel()
		switch {
		case errors.Is(err, nats.ErrNoResponders):
			return false, nil
		case err != nil && r.ctx.Err() != nil:
			return false, caller.ErrClosed
		case err != nil:
			r.log.Warn("handing a call on", "err", err)
			return false, errHandedOn
		case string(answer.Data) == taken:
			return true, nil
		}
	}
	return false, nil
}

// handed takes a call that another worker hands on, if there still is room.
func (r *room) handed(msg *nats.Msg) {
	req := &request{msg.Subject, msg.Header.Get(replyHeader), msg.Header, msg.Data}
	answer := full
	if answerable(req.reply) && r.reserve() {
		if err := r.take(req); err == nil {
			answer = taken
		} else {
			r.leave()
		}
	}
	if err := msg.Respond([]byte(answer)); err != nil {
		r.log.Error("answering a worker that hands a call on", "err", err)
	}
}

// reserve takes a place, if there is one.
func (r *room) reserve() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.left()
	if got {
		r.calls++
	}
	r.showOrLog()
	return got
}

// leave gives a place back.
func (r *room) leave() {
	r.mu.Lock()
	r.calls--
	r.showOrLog()
	r.mu.Unlock()
	r.wake()
}

// wake has the call that waits look for a place.
func (r *room) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.freed)
	r.freed = make(chan struct{})
}

// left reports whether there is a place. Calls of other front doors take
// places, too.
func (r *room) left() bool {
	load := r.load()
	return r.ctx.Err() == nil && max(r.calls, load.Running+load.Queued) < load.Capacity
}

func (r *room) showOrLog() {
	if err := r.show(); err != nil && r.ctx.Err() == nil {
		r.log.Error("telling other workers of free places", "err", err)
	}
}

// show makes known to the other workers whether there is room here.
func (r *room) show() error {
	switch left := r.left(); {
	case left && r.sub == nil:
		sub, err := r.conn.QueueSubscribe(r.subject+takeSuffix, queueGroup, r.handed)
		if err != nil {
			return err
		}
		r.sub = sub
		return r.conn.Publish(r.subject+freeSuffix, nil)
	case !left && r.sub != nil:
		sub := r.sub
		r.sub = nil
		return sub.Drain() // what is on its way is answered
	}
	return nil
}

package taskt

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Peers are the other workers of a workspace, to which a [Dispatcher] hands
// calls on. C is a call as its front door has it.
type Peers[C any] interface {
	// Offer offers a call to one of the workers that advertise a free slot, and
	// returns its reply. After an error it is not known whether one runs the call.
	Offer(ctx context.Context, call C) (Reply, error)

	// Advertise tells the workers whether a slot is free here. It is called one
	// at a time, and also where nothing has changed.
	Advertise(free bool) error
}

// Reply is what comes of offering a call to the other workers.
type Reply int

// The replies to an offer.
const (
	NoPeer Reply = iota // no other worker advertises a free slot
	Full                // the worker that was asked has just become full
	Taken               // it runs the call, and answers it
)

const (
	// offerTimeout is how long another worker may take to say that it takes a
	// call. It is gone then, or cut off, and whether it runs the call is not
	// known: it is not handed to a second one.
	offerTimeout = 10 * time.Second

	// lookAgain is how often a call that waits looks for a slot unasked: one of
	// another front door may have ended here, and a message may have been lost.
	lookAgain = time.Second

	// maxOffers bounds how often a call is offered in a row to workers that have
	// just become full.
	maxOffers = 8
)

// The errors of [Dispatcher.Enter] and [Dispatcher.EnterNow]. A call that finds no
// slot, and does not wait for one, gets ErrFull; within a worker it is a [FullError].
var (
	ErrClosed = errors.New("the worker is shutting down")
	ErrFull   = errors.New("no worker of the workspace has a free slot: make the call without background, and it waits for one, or later")
	ErrLost   = errors.New("the worker that the call was handed to does not answer: it is not known whether the call runs")
)

// Dispatcher finds a slot for each call of a front door whose calls several
// workers share. A call runs here if a slot is free. If none is, it goes to a
// worker that advertises one. If none does, it waits for a slot here, or for
// another worker to advertise one.
type Dispatcher[C any] struct {
	load   func() Load
	peers  Peers[C]
	log    *slog.Logger
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	turn   chan struct{} // held by the one call that looks for a slot

	mu    sync.Mutex
	calls int           // calls with a slot here
	freed chan struct{} // closed when there may be a slot, here or elsewhere
}

// NewDispatcher returns a dispatcher of the slots that load counts. It neither
// advertises them nor takes calls from other workers before Open.
func NewDispatcher[C any](load func() Load, peers Peers[C], log *slog.Logger) *Dispatcher[C] {
	d := &Dispatcher[C]{load: load, peers: peers, log: log, turn: make(chan struct{}, 1), freed: make(chan struct{})}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// Open tells the other workers of the slots here.
func (d *Dispatcher[C]) Open() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.advertise()
}

// Close takes no more calls, and ends the wait of those that have no slot.
func (d *Dispatcher[C]) Close() error {
	d.cancel()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.advertise()
}

// Enter finds a slot for a call, and waits for one until Close. If here, the slot is
// in this process, and the caller gives it back with Leave; else another worker has the
// call and answers it.
func (d *Dispatcher[C]) Enter(call C) (here bool, err error) {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-d.ctx.Done():
		return false, ErrClosed
	}
	for {
		d.mu.Lock()
		freed := d.freed
		d.mu.Unlock()
		if d.TryEnter() {
			return true, nil
		}
		if gone, err := d.handOn(call); gone || err != nil {
			return false, err
		}
		again := time.NewTimer(lookAgain)
		select {
		case <-freed:
		case <-again.C:
		case <-d.ctx.Done():
			again.Stop()
			return false, ErrClosed
		}
		again.Stop()
	}
}

// EnterNow is Enter for a call that does not wait for a slot: without one it is
// [ErrFull].
func (d *Dispatcher[C]) EnterNow(call C) (here bool, err error) {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-d.ctx.Done():
		return false, ErrClosed
	default: // a call that came before waits for one
		return false, ErrFull
	}
	if d.TryEnter() {
		return true, nil
	}
	gone, err := d.handOn(call)
	if !gone && err == nil {
		err = ErrFull
	}
	return false, err
}

// TryEnter takes a slot here, if one is free, for a call that another worker
// offers. The caller gives it back with Leave.
func (d *Dispatcher[C]) TryEnter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	got := d.left()
	if got {
		d.calls++
	}
	d.advertiseOrLog()
	return got
}

// Leave gives a slot back.
func (d *Dispatcher[C]) Leave() {
	d.mu.Lock()
	d.calls--
	d.advertiseOrLog()
	d.mu.Unlock()
	d.Wake()
}

// Wake makes the call that waits look for a slot: another worker may have one.
func (d *Dispatcher[C]) Wake() {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.freed)
	d.freed = make(chan struct{})
}

// handOn offers a call to the other workers, and reports whether one has taken
// it.
func (d *Dispatcher[C]) handOn(call C) (gone bool, err error) {
	for range maxOffers {
		ctx, cancel := context.WithTimeout(d.ctx, offerTimeout)
		reply, err := d.peers.Offer(ctx, call)
		cancel()
		switch {
		case err != nil && d.ctx.Err() != nil:
			return false, ErrClosed
		case err != nil:
			d.log.Warn("handing a call on", "err", err)
			return false, ErrLost
		case reply == Taken:
			return true, nil
		case reply == NoPeer:
			return false, nil
		}
	}
	return false, nil
}

// left reports whether a slot is free. Calls of other front doors take slots, too.
func (d *Dispatcher[C]) left() bool {
	load := d.load()
	return d.ctx.Err() == nil && max(d.calls, load.Running+load.Queued) < load.Capacity
}

func (d *Dispatcher[C]) advertise() error { return d.peers.Advertise(d.left()) }

func (d *Dispatcher[C]) advertiseOrLog() {
	if err := d.advertise(); err != nil && d.ctx.Err() == nil {
		d.log.Error("telling other workers of free slots", "err", err)
	}
}

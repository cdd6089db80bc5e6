package slots

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Peers are the other workers of a workspace. C is a call as its front door has it.
type Peers[C any] interface {
	// Offer offers a call to a worker that advertises a free slot, and returns its reply.
	// After an error it is not known whether a worker runs the call.
	Offer(ctx context.Context, call C) (Reply, error)

	// Advertise tells the workers whether a slot is free here. Calls of it do not overlap,
	// and some repeat the last one.
	Advertise(free bool) error
}

// Reply is the reply to an offer.
type Reply int

// The replies to an offer.
const (
	NoPeer   Reply = iota // no other worker advertises a free slot
	Full                  // the worker that was asked has just become full
	Accepted              // the worker runs the call, and answers it
)

const (
	// offerTimeout is how long another worker may take to accept a call. After that it has
	// ended or is cut off, and may still run the call: no second worker gets it.
	offerTimeout = 10 * time.Second

	// retryInterval is how often a call that waits looks for a slot unasked: a call of
	// another front door may have ended here, or a message may be lost.
	retryInterval = time.Second

	// maxOffers bounds the offers of one call to workers that have just become full.
	maxOffers = 8
)

// Dispatcher finds a slot for each call of a front door that several workers share.
//
// A call runs here if a slot is free, else in a worker that advertises one. If no worker
// does, the call waits until a slot is free here or another worker advertises one.
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

// NewDispatcher returns a dispatcher of the slots that load counts. Until Open it neither
// advertises them nor accepts calls of other workers.
func NewDispatcher[C any](load func() Load, peers Peers[C], log *slog.Logger) *Dispatcher[C] {
	d := &Dispatcher[C]{load: load, peers: peers, log: log, turn: make(chan struct{}, 1), freed: make(chan struct{})}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// Open advertises the free slots here to the other workers.
func (d *Dispatcher[C]) Open() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.advertise()
}

// Close accepts no more calls, and ends the wait of those without a slot.
func (d *Dispatcher[C]) Close() error {
	d.cancel()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.advertise()
}

// Enter finds a slot for a call, and waits for one until Close.
//
// here reports that the slot is in this process: the caller gives it back with Leave.
// Otherwise another worker has the call and answers it.
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
		if accepted, err := d.offer(call); accepted || err != nil {
			return false, err
		}
		retry := time.NewTimer(retryInterval)
		select {
		case <-freed:
		case <-retry.C:
		case <-d.ctx.Done():
			retry.Stop()
			return false, ErrClosed
		}
		retry.Stop()
	}
}

// EnterNow is Enter for a call that does not wait. Without a free slot it returns [ErrFull].
func (d *Dispatcher[C]) EnterNow(call C) (here bool, err error) {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-d.ctx.Done():
		return false, ErrClosed
	default: // an earlier call waits for a slot
		return false, ErrFull
	}
	if d.TryEnter() {
		return true, nil
	}
	accepted, err := d.offer(call)
	if !accepted && err == nil {
		err = ErrFull
	}
	return false, err
}

// TryEnter reserves a slot here for a call of another worker, and reports whether one was
// free. The caller gives it back with Leave.
func (d *Dispatcher[C]) TryEnter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	entered := d.free()
	if entered {
		d.calls++
	}
	d.advertiseOrLog()
	return entered
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

// offer offers a call to the other workers, and reports whether one has accepted it.
func (d *Dispatcher[C]) offer(call C) (accepted bool, err error) {
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
		case reply == Accepted:
			return true, nil
		case reply == NoPeer:
			return false, nil
		}
	}
	return false, nil
}

// free reports whether a slot is free. Calls of other front doors occupy slots too.
func (d *Dispatcher[C]) free() bool {
	load := d.load()
	return d.ctx.Err() == nil && max(d.calls, load.Running+load.Queued) < load.Capacity
}

func (d *Dispatcher[C]) advertise() error { return d.peers.Advertise(d.free()) }

func (d *Dispatcher[C]) advertiseOrLog() {
	if err := d.advertise(); err != nil && d.ctx.Err() == nil {
		d.log.Error("telling other workers of free slots", "err", err)
	}
}

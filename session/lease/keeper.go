package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// lookEvery is how often a process looks whether others have gone.
	lookEvery = time.Second

	// sweepEvery is how often Sweep is called though none was seen to have gone.
	sweepEvery = time.Minute
)

// Options configures a [Keeper].
type Options struct {
	BootID string

	TakesOver bool // as in [Lease]

	// Taken is called when another process has taken this one for gone, and has ended
	// its sessions or is about to. all: every session that runs; else those whose
	// record says so. It is called again until it returns nil. nil means not called.
	Taken func(ctx context.Context, all bool) error

	// Sweep recovers what processes that have gone have left; it uses [Keeper.Claim].
	// It is called at the start, when a process is found to have gone, again after
	// [Time] if something is left, and once a minute. It may take long, and reports
	// whether it has looked at everything. A process that runs no sessions has none
	// (nil): it looks at leases only by [Keeper.Claim] and [Keeper.Gone].
	Sweep func(ctx context.Context, k *Keeper) (done bool)

	// Upkeep runs beside Sweep until its context ends, which is with the keeper. nil
	// means nothing does.
	Upkeep func(ctx context.Context)

	Logger *slog.Logger // nil discards them
}

// Keeper renews the lease of a process, and sees those of the others.
type Keeper struct {
	bucket *Bucket
	opts   Options
	log    *slog.Logger
	stop   context.CancelFunc
	tasks  sync.WaitGroup

	load atomic.Pointer[func() Load]

	turn     chan struct{} // holds a value while the lease is renewed or given back; guards the fields below
	lease    *Lease
	rev      uint64    // of the stored lease; 0 means not stored
	doubtful time.Time // until then the live sessions are looked at: somebody may have ended them
	closed   bool

	sign   atomic.Pointer[time.Time] // when this process was last known to be taken for alive
	failed atomic.Pointer[time.Time] // when a renewal failed the last time; nil means none has
	others view
	claims map[string]uint64 // revisions of the claims of this process: Sweep's alone

	unfinished atomic.Bool // sessions that it had claimed have perhaps not ended, and may be in its name
}

// Start takes the lease of a process and keeps it until [Keeper.Close], or until the
// connection is closed.
func Start(ctx context.Context, b *Bucket, opts Options) (*Keeper, error) {
	k := &Keeper{
		bucket: b, opts: opts, log: opts.Logger, turn: make(chan struct{}, 1), lease: b.newLease(opts.BootID), claims: make(map[string]uint64),
	}
	k.lease.NoSessions, k.lease.TakesOver = opts.Sweep == nil, opts.TakesOver
	if k.log == nil {
		k.log = slog.New(slog.DiscardHandler)
	}
	k.others.local = b.local
	var closed <-chan nats.Status // nil means whoever has no sweeps closes soon
	if opts.Sweep != nil {
		closed = b.closed()
	}
	var err error
	if k.rev, err = b.create(ctx, opts.BootID, k.lease.encode()); err != nil {
		return nil, fmt.Errorf("taking the lease of this process: %w", err)
	}
	k.signed()
	k.others.renewed(time.Now())
	ctx, k.stop = context.WithCancel(context.WithoutCancel(ctx))
	k.tasks.Go(func() { k.renewAll(ctx, closed) })
	if opts.Sweep != nil {
		k.tasks.Go(func() { k.observe(ctx) })
	}
	if opts.Upkeep != nil {
		k.tasks.Go(func() { opts.Upkeep(ctx) })
	}
	return k, nil
}

// Close gives the lease back. left: sessions of this process are left for others to
// end, who need not wait. So they are where it was recovering those of others, and has
// not finished.
func (k *Keeper) Close(ctx context.Context, left bool) error {
	k.Stop()
	if err := k.lock(ctx); err != nil {
		return fmt.Errorf("giving back the lease of this process: %w", err)
	}
	defer k.unlock()
	if k.closed || k.rev == 0 {
		return nil
	}
	k.closed = true
	var err error
	if left || k.unfinished.Load() {
		k.lease.Ended = true
		_, err = k.bucket.update(ctx, k.opts.BootID, k.lease.encode(), k.rev)
	} else {
		err = k.bucket.remove(ctx, k.opts.BootID, k.rev)
	}
	if err != nil && !errors.Is(err, errConflict) {
		return fmt.Errorf("giving back the lease of this process: %w", err)
	}
	return nil
}

// Stop ends the renewals. The lease stays until others claim it.
func (k *Keeper) Stop() {
	k.stop()
	k.tasks.Wait()
}

// BootID is the boot id of the process.
func (k *Keeper) BootID() string { return k.opts.BootID }

// Report has load's answer stored with the lease, now and at each renewal, for
// who lists workers.
func (k *Keeper) Report(ctx context.Context, load func() Load) {
	k.load.Store(&load)
	k.Renew(ctx)
}

// lock waits for the turn to renew the lease, or until ctx ends.
func (k *Keeper) lock(ctx context.Context) error {
	select {
	case k.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (k *Keeper) unlock() { <-k.turn }

// renewAll renews the lease until ctx ends. Its goroutine does nothing else, so that
// slow work does not delay a renewal.
func (k *Keeper) renewAll(ctx context.Context, closed <-chan nats.Status) {
	defer k.stop()
	tick := time.NewTicker(Renewal)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-closed:
			return
		case <-tick.C:
			k.Renew(ctx)
		}
	}
}

// Renew shows that this process is alive. If its lease is gone or taken, the process
// was stopped, its machine was asleep, or it was cut off from the store.
func (k *Keeper) Renew(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, Renewal)
	defer cancel()
	if k.lock(ctx) != nil { // another goroutine has tried all the time
		return
	}
	defer k.unlock()
	if k.closed {
		return
	}
	err := k.extend(ctx)
	if err == nil && !k.doubtful.IsZero() {
		err = k.taken(ctx, false)
		if time.Now().After(k.doubtful) {
			k.doubtful = time.Time{}
		}
	}
	if err != nil {
		now := time.Now()
		k.failed.Store(&now)
		k.others.failed()
		if ctx.Err() == nil || !errors.Is(context.Cause(ctx), context.Canceled) {
			k.log.Warn("the lease of this process could not be renewed", "err", err)
		}
		return
	}
	k.others.renewed(time.Now())
	k.signed()
}

// extend renews the lease, or takes a new one. The caller has the turn, as for
// taken.
func (k *Keeper) extend(ctx context.Context) error {
	k.lease.RenewedAt = time.Now().UTC()
	if load := k.load.Load(); load != nil {
		k.lease.Load = (*load)()
	}
	rev, err := k.bucket.update(ctx, k.opts.BootID, k.lease.encode(), k.rev)
	if !errors.Is(err, errConflict) {
		if err == nil {
			k.rev = rev
		}
		return err
	}
	data, rev, err := k.bucket.get(ctx, k.opts.BootID)
	if errors.Is(err, errNone) { // ended by somebody, who is done with it, or by time
		k.log.Warn("the lease of this process is gone: it was stopped, asleep, or cut off from the store")
		k.doubtful = time.Now().Add(Time)
		k.rev, err = k.bucket.create(ctx, k.opts.BootID, k.lease.encode())
		return err
	}
	if err != nil {
		return err
	}
	stored := decode(data)
	if stored.TakenBy == "" && !stored.Ended { // renewed, and its acknowledgement lost
		k.rev = rev
		return nil
	}
	if err := k.taken(ctx, true); err != nil {
		return err
	}
	if stored.TakenBy != "" {
		if _, _, dead, err := k.look(ctx, stored.TakenBy); err != nil || !dead {
			return errors.Join(fmt.Errorf("the process %s has taken this one for gone, and is ending its sessions", stored.TakenBy), err)
		}
	}
	next, err := k.bucket.update(ctx, k.opts.BootID, k.lease.encode(), rev)
	if err == nil {
		k.rev = next
	}
	return err
}

func (k *Keeper) taken(ctx context.Context, all bool) error {
	if k.opts.Taken == nil {
		return nil
	}
	if err := k.opts.Taken(ctx, all); err != nil {
		return fmt.Errorf("looking whether sessions were ended by another process: %w", err)
	}
	return nil
}

func (k *Keeper) signed() {
	now := time.Now()
	k.sign.Store(&now)
}

// Assure renews the lease if others may soon take this process for gone: its last sign is
// older than half of [Time]. Within a Renewal of a try that has failed it does nothing:
// each event of each session would wait for the store.
func (k *Keeper) Assure(ctx context.Context) {
	now := time.Now()
	if at := k.failed.Load(); at != nil && elapsed(*at, now) < Renewal {
		return
	}
	if elapsed(*k.sign.Load(), now) > Time/2 {
		k.Renew(ctx)
	}
}

// elapsed is the time between two moments, by the monotonic clock or by the wall clock,
// whichever is longer: the monotonic clock stands still while the machine sleeps.
func elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

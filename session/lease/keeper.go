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
	// lookEvery is how often a process looks for others that have died.
	lookEvery = time.Second

	// sweepEvery is how often Sweep is called even if no process was seen to die.
	sweepEvery = time.Minute
)

// Options configures a [Keeper].
type Options struct {
	BootID string

	Resumes  bool          // as in [Lease]
	Duration time.Duration // as in [Lease]; 0 means [MinDuration]

	// Claimed is called when another process considers this one dead, and has ended its
	// sessions or is about to end them. If all is true, every running session is
	// affected. Otherwise only sessions whose record has an end are. It is called again
	// until it returns nil. It may be nil.
	Claimed func(ctx context.Context, all bool) error

	// Sweep recovers the sessions that dead processes have left; it uses
	// [Keeper.Claim]. It is called at the start, when a process is found to be dead,
	// again after [MinDuration] if something is left, and once a minute. It may be slow. It
	// reports whether it has looked at everything. A process without sessions has no
	// Sweep (nil): it looks at leases only with [Keeper.Claim] and [Keeper.Claimable].
	Sweep func(ctx context.Context, k *Keeper) (done bool)

	// Upkeep runs at the same time as Sweep, until the keeper stops and ends its
	// context. It may be nil.
	Upkeep func(ctx context.Context)

	Logger *slog.Logger // nil discards them
}

// Keeper renews the lease of a process, and watches those of the others.
type Keeper struct {
	bucket *Bucket
	opts   Options
	log    *slog.Logger

	duration time.Duration // of the lease

	stop  context.CancelFunc
	tasks sync.WaitGroup

	load atomic.Pointer[func() Load]

	turn     chan struct{} // holds a value while the lease is renewed or given back; guards the fields below
	lease    *Lease
	rev      uint64    // of the stored lease; 0 means not stored
	doubtful time.Time // until then the live sessions are checked: another process may have ended them
	closed   bool

	sign   atomic.Pointer[time.Time] // when this process was last known to be considered alive
	failed atomic.Pointer[time.Time] // when a renewal failed the last time; nil means none has
	others view
	claims map[string]uint64 // revisions of the claims of this process; only Sweep uses it

	handsOver  atomic.Bool // the sessions of this process wait for another one
	unfinished atomic.Bool // claimed sessions have perhaps not ended, and may be in this process's name
}

// Start creates the lease of a process, and renews it until [Keeper.Close] or until the
// connection is closed.
func Start(ctx context.Context, b *Bucket, opts Options) (*Keeper, error) {
	k := &Keeper{
		bucket: b, opts: opts, log: opts.Logger, turn: make(chan struct{}, 1), lease: b.newLease(opts.BootID), claims: make(map[string]uint64),
	}
	k.lease.NoSessions, k.lease.Resumes, k.lease.DurationMS = opts.Sweep == nil, opts.Resumes, opts.Duration.Milliseconds()
	if k.log == nil {
		k.log = slog.New(slog.DiscardHandler)
	}
	k.duration, k.others.local = k.lease.Duration(), b.local
	var closed <-chan nats.Status // nil: a process without sweeps closes soon
	if opts.Sweep != nil {
		closed = b.closed()
	}
	var err error
	if k.rev, err = b.create(ctx, opts.BootID, k.lease.encode()); err != nil {
		return nil, fmt.Errorf("creating the lease of this process: %w", err)
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

// Close gives the lease back. left means that other processes must end sessions of this
// one, and need not wait. The same holds if this process has not finished recovering
// the sessions of others.
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
	if left || k.unfinished.Load() || k.handsOver.Load() {
		k.lease.Ended, k.lease.HandsOver, k.lease.RenewedAt = true, k.handsOver.Load(), time.Now().UTC()
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

// HandOver has the sessions of this process wait, from Close on, for a process that resumes
// some.
func (k *Keeper) HandOver() { k.handsOver.Store(true) }

// Duration is [Lease.Duration] of the process.
func (k *Keeper) Duration() time.Duration { return k.duration }

// BootID is the boot id of the process.
func (k *Keeper) BootID() string { return k.opts.BootID }

// Report stores load's answer with the lease, now and at each renewal, for lists of
// workers.
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

// Renew shows that this process is alive. If its lease is missing or claimed, the
// process was stopped, its machine was asleep, or it was cut off from the store.
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
		err = k.notifyClaimed(ctx, false)
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

// extend renews the lease, or creates a new one. The caller has the turn, as for
// notifyClaimed.
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
	if errors.Is(err, errNone) { // removed by a claimant that has finished, or expired
		k.log.Warn("the lease of this process is missing: the process was stopped, asleep, or cut off from the store")
		k.doubtful = time.Now().Add(k.duration)
		k.rev, err = k.bucket.create(ctx, k.opts.BootID, k.lease.encode())
		return err
	}
	if err != nil {
		return err
	}
	stored := decode(data)
	if stored.ClaimedBy == "" && !stored.Ended { // renewed, and its acknowledgement lost
		k.rev = rev
		return nil
	}
	if err := k.notifyClaimed(ctx, true); err != nil {
		return err
	}
	if stored.ClaimedBy != "" {
		if _, _, dead, err := k.look(ctx, stored.ClaimedBy); err != nil || !dead {
			return errors.Join(fmt.Errorf("the process %s considers this one dead, and is ending its sessions", stored.ClaimedBy), err)
		}
	}
	next, err := k.bucket.update(ctx, k.opts.BootID, k.lease.encode(), rev)
	if err == nil {
		k.rev = next
	}
	return err
}

func (k *Keeper) notifyClaimed(ctx context.Context, all bool) error {
	if k.opts.Claimed == nil {
		return nil
	}
	if err := k.opts.Claimed(ctx, all); err != nil {
		return fmt.Errorf("looking whether sessions were ended by another process: %w", err)
	}
	return nil
}

func (k *Keeper) signed() {
	now := time.Now()
	k.sign.Store(&now)
}

// Assure renews the lease if others may soon consider this process dead: its last sign
// is older than half of [Lease.Duration]. It does nothing within a Renewal of a failed attempt.
// Otherwise each event of each session would wait for the store.
func (k *Keeper) Assure(ctx context.Context) {
	now := time.Now()
	if at := k.failed.Load(); at != nil && elapsed(*at, now) < Renewal {
		return
	}
	if elapsed(*k.sign.Load(), now) > k.duration/2 {
		k.Renew(ctx)
	}
}

// elapsed is the time between two moments, by the monotonic clock or by the wall clock,
// whichever is longer: the monotonic clock stands still while the machine sleeps.
func elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/session/store"
)

const (
	// leaseRenewal is how often a process gives one: two may fail.
	leaseRenewal = 3 * time.Second

	// sweepEvery is how often a process looks for sessions whose process has
	// gone, though no lease was seen to end.
	sweepEvery = time.Minute
)

// keeper renews the lease of a manager's process, and ends the sessions of
// processes whose lease has ended.
type keeper struct {
	m     *Manager
	lease *store.Lease
	stop  context.CancelFunc
	done  chan struct{}

	mu       sync.Mutex // held while the lease is renewed, or given back
	load     func() store.WorkerLoad
	rev      uint64    // of the stored lease; 0: not stored
	doubtful time.Time // until then the live sessions are looked at: somebody may have ended them
	closed   bool
	sign     atomic.Pointer[time.Time] // when this process was last known to be taken for alive

	sweepMu sync.Mutex // may be taken while mu is held
	sweepAt time.Time  // when to look for sessions whose process has gone
	patient bool       // not before that, whatever is seen

	others map[string]*seen // the leases of other processes, by key: the keeper's goroutine's alone
}

// seen is the lease of another process, and when it was last renewed, by the
// clock of this one.
type seen struct {
	store.Lease
	at time.Time
}

// startKeeper takes the lease of m's process and keeps it until close, or until
// the bus is closed.
func startKeeper(ctx context.Context, m *Manager) (*keeper, error) {
	k := &keeper{m: m, lease: m.store.NewLease(m.bootID), done: make(chan struct{}), others: make(map[string]*seen)}
	var err error
	if k.rev, err = m.store.TakeLease(ctx, k.lease); err != nil {
		return nil, err
	}
	// Those that have been away as long as this process have a chance to come back.
	k.sweepLater(store.LeaseTTL, true)
	k.signed()
	ctx, k.stop = context.WithCancel(context.WithoutCancel(ctx))
	go k.run(ctx, m.bus.Conn().StatusChanged(nats.CLOSED))
	return k, nil
}

// close gives the lease back.
func (k *keeper) close(ctx context.Context) error {
	k.stop()
	<-k.done
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || k.rev == 0 {
		return nil
	}
	k.closed = true
	if err := k.m.store.DropLease(ctx, k.lease.BootID); err != nil {
		return fmt.Errorf("giving back the lease of this process: %w", err)
	}
	return nil
}

func (k *keeper) run(ctx context.Context, closed <-chan nats.Status) {
	defer close(k.done)
	defer k.stop()
	tick := time.NewTicker(leaseRenewal)
	defer tick.Stop()
	watch := k.watch(ctx)
	for {
		var updates <-chan jetstream.KeyValueEntry // nil: not watching
		if watch != nil {
			updates = watch.Updates()
		}
		select {
		case <-ctx.Done():
			if watch != nil {
				_ = watch.Stop() // its connection may be gone, and it with that
			}
			return
		case <-closed:
			return
		case e, ok := <-updates:
			if !ok {
				watch = nil
				continue
			}
			k.note(e)
		case <-tick.C:
			if k.m.bus.Conn().IsClosed() {
				return
			}
			k.renew(ctx)
			if watch == nil {
				watch = k.watch(ctx)
			}
			if k.sweepDue(time.Now()) {
				k.sweep(ctx)
			}
		}
	}
}

func (k *keeper) watch(ctx context.Context) jetstream.KeyWatcher {
	watch, err := k.m.store.WatchLeases(ctx)
	if err != nil {
		if ctx.Err() == nil {
			k.m.log.Warn("the leases of other processes can't be watched", "err", err)
		}
		return nil
	}
	return watch
}

// note takes a change of somebody's lease.
func (k *keeper) note(e jetstream.KeyValueEntry) {
	if e == nil || strings.HasSuffix(e.Key(), "."+k.lease.BootID) {
		return
	}
	if e.Operation() != jetstream.KeyValuePut { // given back, or expired
		if k.others[e.Key()] != nil {
			delete(k.others, e.Key())
			k.sweepSoon()
		}
		return
	}
	s := &seen{at: time.Now()}
	if json.Unmarshal(e.Value(), &s.Lease) != nil {
		s.Lease = store.Lease{} // of a later version: it counts until it is not renewed
	}
	k.others[e.Key()] = s
}

// sweepDue reports whether to look for sessions whose process has gone.
func (k *keeper) sweepDue(now time.Time) bool {
	maps.DeleteFunc(k.others, func(_ string, s *seen) bool {
		gone := now.Sub(s.at) > store.LeaseTTL || s.Over()
		if gone {
			k.sweepSoon()
		}
		return gone
	})
	k.sweepMu.Lock()
	defer k.sweepMu.Unlock()
	return !now.Before(k.sweepAt)
}

// sweepSoon has the next round look for sessions whose process has gone, or one
// after it: not all processes at once.
func (k *keeper) sweepSoon() {
	at := time.Now().Add(jitter(leaseRenewal))
	k.sweepMu.Lock()
	defer k.sweepMu.Unlock()
	if at.Before(k.sweepAt) && !k.patient {
		k.sweepAt = at
	}
}

// sweepLater puts that off. patient: until then, whatever is seen.
func (k *keeper) sweepLater(by time.Duration, patient bool) {
	k.sweepMu.Lock()
	defer k.sweepMu.Unlock()
	k.sweepAt, k.patient = time.Now().Add(by+jitter(leaseRenewal)), patient
}

func jitter(d time.Duration) time.Duration { return rand.N(d) }

// renew gives a sign that this process is alive. Where its lease is gone the
// process was away: stopped, its machine asleep, or cut off from the store.
// Others may have ended its sessions; those that they have it stops.
func (k *keeper) renew(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaseRenewal)
	defer cancel()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	if err := k.extend(ctx); err != nil {
		k.m.log.Warn("the lease of this process could not be renewed", "err", err)
		return
	}
	if k.silent() > 2*leaseRenewal {
		// The store was out of reach, for others too: their leases may have run
		// out with them alive. They have time to come back.
		k.sweepLater(store.LeaseTTL, true)
	}
	if !k.doubtful.IsZero() {
		if err := k.m.dropEnded(ctx); err != nil {
			k.m.log.Warn("looking whether sessions were ended by another process", "err", err)
			return
		}
		if time.Now().After(k.doubtful) {
			k.doubtful = time.Time{}
		}
	}
	k.signed()
}

func (k *keeper) signed() {
	now := time.Now()
	k.sign.Store(&now)
}

// away reports whether others may take this process for gone: its last sign is
// older than the lease.
func (k *keeper) away() bool { return k.silent() > store.LeaseTTL }

// silent is how long ago the last sign was, by the time that has passed for the
// machine or by the clock on the wall: the first stands still while the machine
// sleeps.
func (k *keeper) silent() time.Duration {
	sign, now := *k.sign.Load(), time.Now()
	return max(now.Sub(sign), now.Round(0).Sub(sign.Round(0)))
}

// extend renews the lease, or takes a new one.
func (k *keeper) extend(ctx context.Context) error {
	k.lease.RenewedAt = time.Now().UTC()
	if k.load != nil {
		k.lease.WorkerLoad = k.load()
	}
	rev, err := k.m.store.RenewLease(ctx, k.lease, k.rev)
	if !errors.Is(err, store.ErrNoLease) {
		if err == nil {
			k.rev = rev
		}
		return err
	}
	k.m.log.Warn("the lease of this process had run out: it was stopped, asleep, or cut off from the store")
	// What kept this process away may have kept all: they have time to come back.
	k.doubtful = time.Now().Add(store.LeaseTTL)
	k.sweepLater(store.LeaseTTL, true)
	k.rev, err = k.m.store.TakeLease(ctx, k.lease)
	return err
}

// sweep ends the sessions of processes that have gone, and forgets those that
// are kept no longer.
func (k *keeper) sweep(ctx context.Context) {
	k.sweepLater(sweepEvery, false)
	n, err := k.m.store.RecoverAs(ctx, k.lease.BootID)
	if ctx.Err() != nil {
		return
	}
	if n > 0 {
		k.m.log.Warn("sessions were interrupted: their process has gone", "sessions", n)
	}
	if err == nil {
		_, err = k.m.store.Expire(ctx, k.m.retention, time.Now())
	}
	if err != nil && ctx.Err() == nil {
		k.m.log.Warn("looking for sessions to end or to delete", "err", err)
	}
}

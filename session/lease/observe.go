package lease

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// observe watches the leases of the other processes until ctx ends. It calls Sweep to
// recover the sessions of dead processes.
func (k *Keeper) observe(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var changes <-chan change // nil means not watching
	known := false            // all stored leases were received
	sweepAt := time.Now()
	var sweptAt time.Time
	var swept map[string]uint64 // the processes that were dead at that time
	for ctx.Err() == nil {
		if changes == nil {
			changes = k.watch(ctx)
		}
		select {
		case <-ctx.Done():
			continue
		case c, ok := <-changes:
			if !ok { // the store is away
				changes = nil
				pause(ctx, tick.C)
			}
			known = k.note(ctx, c, ok) || known
			continue
		case <-tick.C:
		}
		now := time.Now()
		if !known || !k.others.available(now) {
			continue
		}
		dead := k.deadProcesses(ctx, now)
		for bootID := range dead {
			at := now.Add(rand.N(Renewal)) // not all processes at once
			if _, tried := swept[bootID]; tried {
				at = sweptAt.Add(MinDuration) // another process has sessions below these, or something failed
			}
			if at.Before(sweepAt) {
				sweepAt = at
			}
		}
		if now.Before(sweepAt) {
			continue
		}
		for bootID := range dead {
			k.others.leave(bootID, false)
		}
		if k.opts.Sweep(ctx, k) {
			k.forget(ctx, dead)
		}
		swept, sweptAt = dead, time.Now()
		sweepAt = sweptAt.Add(sweepEvery + rand.N(Renewal))
	}
	if changes != nil {
		for range changes { // until the watch has ended
		}
	}
}

func pause(ctx context.Context, tick <-chan time.Time) {
	select {
	case <-tick:
	case <-ctx.Done():
	}
}

// note handles a change of a lease. last means that all stored leases were received.
func (k *Keeper) note(ctx context.Context, c change, ok bool) (last bool) {
	switch {
	case !ok:
	case c.rev == 0:
		return true
	case c.bootID != k.opts.BootID:
		k.others.saw(c.bootID, decode(c.data), c.rev, time.Now())
	case claimed(c.data):
		k.Renew(ctx) // its sessions must stop at once
	}
	return false
}

// claimed reports whether other processes end the sessions of the lease's process.
func claimed(data []byte) bool {
	l := decode(data)
	return l.ClaimedBy != "" || l.Ended
}

// deadProcesses returns the processes that died without giving their leases back, with
// the revisions of these leases.
func (k *Keeper) deadProcesses(ctx context.Context, now time.Time) map[string]uint64 {
	dead := k.others.dead(now)
	for bootID, rev := range dead {
		if rev == 0 {
			continue
		}
		if _, _, err := k.bucket.get(ctx, bootID); errors.Is(err, errNone) {
			k.others.forget(bootID, rev)
			delete(dead, bootID)
		}
	}
	return dead
}

func (k *Keeper) watch(ctx context.Context) <-chan change {
	changes, err := k.bucket.watch(ctx)
	if err != nil {
		if ctx.Err() == nil {
			k.log.Warn("the leases of other processes can't be watched", "err", err)
		}
		return nil
	}
	return changes
}

// forget removes the leases of dead processes that have left nothing.
func (k *Keeper) forget(ctx context.Context, dead map[string]uint64) {
	for bootID, rev := range dead {
		if ctx.Err() != nil {
			return
		}
		if k.others.hasLeft(bootID) { // the store was away meanwhile, or another process is recovering it
			continue
		}
		if err := k.bucket.remove(ctx, bootID, rev); err != nil {
			k.log.Warn("removing the lease of a dead process", "process", bootID, "err", err)
			return
		}
		k.others.forget(bootID, rev)
	}
}

package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Claim claims the sessions of a process. It reports whether this process may recover
// them: their process has died, and no other process is recovering them. The caller
// gives the claim back with [Keeper.Release]. Claim and Release are not safe for
// concurrent use.
func (k *Keeper) Claim(ctx context.Context, bootID string) (bool, error) {
	if k.claims[bootID] > 0 {
		return true, nil
	}
	l, rev, dead, err := k.look(ctx, bootID)
	if err != nil || !dead || !k.others.available(time.Now()) {
		k.others.leave(bootID, true)
		return false, err
	}
	l.BootID, l.ClaimedBy = bootID, k.opts.BootID
	if rev == 0 {
		rev, err = k.bucket.create(ctx, bootID, l.encode())
	} else {
		rev, err = k.bucket.update(ctx, bootID, l.encode(), rev)
	}
	if errors.Is(err, errConflict) { // it lives, or another claim was first
		k.others.leave(bootID, true)
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("claiming the sessions of the process %s: %w", bootID, err)
	}
	k.claims[bootID] = rev
	return true, nil
}

// Release gives up all claims. done: nothing is left of what was claimed; else anybody
// may claim it anew.
func (k *Keeper) Release(ctx context.Context, done bool) error {
	if done {
		k.unfinished.Store(false)
	} else if len(k.claims) > 0 {
		k.unfinished.Store(true)
	}
	var errs []error
	for bootID, rev := range k.claims {
		delete(k.claims, bootID)
		var err error
		if done {
			err = k.bucket.remove(ctx, bootID, rev)
		} else {
			l, _ := k.others.lease(bootID)
			l.BootID, l.ClaimedBy, l.Ended = bootID, "", true
			_, err = k.bucket.update(ctx, bootID, l.encode(), rev)
		}
		if err != nil && !errors.Is(err, errConflict) {
			errs = append(errs, fmt.Errorf("releasing the claim of the process %s: %w", bootID, err))
			continue
		}
		k.others.forget(bootID, rev)
	}
	return errors.Join(errs...)
}

// Claimable reports whether the process of a boot id has died, so that its sessions may
// be claimed.
func (k *Keeper) Claimable(ctx context.Context, bootID string) (bool, error) {
	_, _, dead, err := k.look(ctx, bootID)
	return dead && k.others.available(time.Now()), err
}

// look returns the stored lease of a process, its revision (0: it has none), and whether
// it may be claimed.
func (k *Keeper) look(ctx context.Context, bootID string) (l Lease, rev uint64, dead bool, err error) {
	at := bootID
	for i := range maxClaims {
		data, atRev, err := k.bucket.get(ctx, at)
		if err != nil && !errors.Is(err, errNone) {
			return Lease{}, 0, false, fmt.Errorf("looking for the process %s: %w", at, err)
		}
		held := decode(data)
		if i == 0 {
			l, rev = held, atRev
		}
		k.others.saw(at, held, atRev, time.Now())
		switch held.ClaimedBy {
		case "":
			return l, rev, k.others.isDead(at, time.Now()), nil
		case k.opts.BootID: // an earlier claim, whose acknowledgement was lost
			return l, rev, true, nil
		}
		at = held.ClaimedBy
	}
	return l, rev, false, nil
}

// HandedOver reports whether a process has ended in order, and has handed its sessions over.
// waits says that they still wait for a process that resumes some, and this is none.
func (k *Keeper) HandedOver(ctx context.Context, bootID string) (handedOver, waits bool, err error) {
	l, _, _, err := k.look(ctx, bootID)
	return l.HandsOver, l.HandsOver && !k.opts.Resumes && time.Since(l.RenewedAt) < HandOverTime, err
}

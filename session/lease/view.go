package lease

import (
	"sync"
	"time"
)

// view is what a process has seen of the leases of the others, and of the store.
type view struct {
	local bool // all processes are of this machine

	mu    sync.Mutex
	since time.Time // since when the store has been available to this process; zero means it is away
	last  time.Time // when it was last seen to be available
	seen  map[string]*observed
}

// maxClaims bounds how many claimants of claimants are looked at.
const maxClaims = 8

// observed is the lease of a process when it was last seen.
type observed struct {
	lease Lease
	rev   uint64    // 0 means there is none
	at    time.Time // when this revision was first seen
	left  bool      // sessions of the process were found that could not be claimed
}

// renewed notes that this process's own lease was renewed.
func (v *view) renewed(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.since.IsZero() || elapsed(v.last, now) > 2*Renewal { // or this process was stopped
		v.since = now
	}
	v.last = now
}

// failed notes that the own lease could not be renewed.
func (v *view) failed() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.since = time.Time{}
}

// available reports whether the store is available: the own lease has been renewed
// since the last outage.
func (v *view) available(now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.there(now)
}

func (v *view) there(now time.Time) bool {
	return !v.since.IsZero() && elapsed(v.last, now) <= 2*Renewal
}

// saw notes the lease of a process; rev 0: it has none.
func (v *view) saw(bootID string, l Lease, rev uint64, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.seen == nil {
		v.seen = make(map[string]*observed)
	}
	if s := v.seen[bootID]; s == nil || s.rev != rev {
		v.seen[bootID] = &observed{lease: l, rev: rev, at: now}
	}
}

// leave notes whether sessions of a process were found that could not be claimed.
func (v *view) leave(bootID string, left bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := v.seen[bootID]; s != nil {
		s.left = left
	}
}

// hasLeft reports whether leave noted such sessions.
func (v *view) hasLeft(bootID string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.seen[bootID]
	return s != nil && s.left
}

// forget forgets the lease of a process, unless it has changed since a revision.
func (v *view) forget(bootID string, rev uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := v.seen[bootID]; s != nil && s.rev <= rev {
		delete(v.seen, bootID)
	}
}

// lease returns the lease of a process, and its revision; 0 means it has none.
func (v *view) lease(bootID string) (Lease, uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.seen[bootID]
	if s == nil {
		return Lease{}, 0
	}
	return s.lease, s.rev
}

// isDead reports whether a process has died.
func (v *view) isDead(bootID string, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.seen[bootID]
	return s != nil && v.claimable(s, now)
}

// claimable reports whether the lease of a process may be claimed. It may if the
// process is known to have ended, or if the lease has not changed for its [Lease.Duration] while the
// store was available. A claimed lease may be claimed again if that holds for its
// claimant.
func (v *view) claimable(s *observed, now time.Time) bool {
	for range maxClaims {
		if s.lease.ClaimedBy == "" {
			break
		}
		if s = v.seen[s.lease.ClaimedBy]; s == nil {
			return false
		}
	}
	if s.lease.ClaimedBy == "" && s.lease.hasEnded(v.local) {
		return true
	}
	from := s.at
	if v.since.After(from) {
		from = v.since
	}
	return v.there(now) && now.Sub(from) >= s.lease.Duration()
}

// dead returns the dead processes, with the revisions of their leases.
func (v *view) dead(now time.Time) map[string]uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	dead := make(map[string]uint64)
	for bootID, s := range v.seen {
		if v.claimable(s, now) {
			dead[bootID] = s.rev
		}
	}
	return dead
}

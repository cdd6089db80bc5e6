package lease

import (
	"sync"
	"time"
)

// view is what a process has seen of the leases of the others, and of the store.
type view struct {
	local bool // all processes are of this machine

	mu    sync.Mutex
	since time.Time // when the store was there again, for this process; zero means it is away
	last  time.Time // when that was last known
	seen  map[string]*sight
}

// maxClaims bounds how many claimants of claimants are looked at.
const maxClaims = 8

// sight is the lease of a process as it was seen last.
type sight struct {
	lease Lease
	rev   uint64    // 0 means there is none
	at    time.Time // when it was first seen so
	left  bool      // sessions of the process were found that could not be claimed
}

// renewed notes that the own lease was renewed.
func (v *view) renewed(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.since.IsZero() || elapsed(v.last, now) > 2*Renewal { // or this process was stopped
		v.since = now
	}
	v.last = now
}

// failed notes that it could not be renewed.
func (v *view) failed() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.since = time.Time{}
}

// available reports whether the store is there: the own lease has been renewed since it
// was away last.
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
		v.seen = make(map[string]*sight)
	}
	if s := v.seen[bootID]; s == nil || s.rev != rev {
		v.seen[bootID] = &sight{lease: l, rev: rev, at: now}
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

// hasLeft reports what leave noted.
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

// isDead reports whether a process has gone.
func (v *view) isDead(bootID string, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.seen[bootID]
	return s != nil && v.over(s, now)
}

// over reports whether the lease of a process may be claimed: the process is known to
// have ended, or the lease has not changed for [Time] while the store was available. A
// lease that is claimed may be claimed again if that holds for its claimant.
func (v *view) over(s *sight, now time.Time) bool {
	for range maxClaims {
		if s.lease.TakenBy == "" {
			break
		}
		if s = v.seen[s.lease.TakenBy]; s == nil {
			return false
		}
	}
	if s.lease.TakenBy == "" && s.lease.over(v.local) {
		return true
	}
	from := s.at
	if v.since.After(from) {
		from = v.since
	}
	return v.there(now) && now.Sub(from) >= Time
}

// dead returns the processes that have gone, with the revisions of their leases.
func (v *view) dead(now time.Time) map[string]uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	dead := make(map[string]uint64)
	for bootID, s := range v.seen {
		if v.over(s, now) {
			dead[bootID] = s.rev
		}
	}
	return dead
}

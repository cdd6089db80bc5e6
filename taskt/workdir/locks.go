package workdir

import (
	"fmt"
	"strings"
	"sync"

	"github.com/agentworker/worker/eventbus/event"
)

// Locks are the folders in which the running sessions of this process may write. The zero
// value has none. It is safe for concurrent use.
type Locks struct {
	mu  sync.Mutex
	all map[*Lock]bool
}

// Lock has the folders of one session.
type Lock struct {
	sessionID, agent string
	roots            []string // absolute
}

// Acquire locks folders for a session of an agent, below the session at the end of a path. The
// error names a session with a folder that overlaps. A session shares the folders of those
// above it.
func (l *Locks) Acquire(sessionID, agent string, below event.Path, roots []string) (*Lock, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	above := make(map[string]bool)
	for _, id := range below.IDs() {
		above[id] = true
	}
	for other := range l.all {
		if above[other.sessionID] {
			continue
		}
		for _, theirs := range other.roots {
			for _, ours := range roots {
				if within(ours, theirs) || within(theirs, ours) {
					return nil, fmt.Errorf("writeRoots: %s overlaps %s, in which session %s (%s) may write while it runs: "+
						"wait for that one or stop it, or name other folders", ours, theirs, other.sessionID, other.agent)
				}
			}
		}
	}
	if l.all == nil {
		l.all = make(map[*Lock]bool)
	}
	lock := &Lock{sessionID, agent, roots}
	l.all[lock] = true
	return lock, nil
}

// Release gives back the folders of a lock, which may be nil.
func (l *Locks) Release(lock *Lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, lock)
}

func within(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

// Package changes keeps sessions from overwriting each other's changes of files.
package changes

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/agentworker/worker/tool/internal/rootfs"
)

// Tracker remembers which session wrote a file last, and which sessions have read it
// since. It only sees the file tools of this process. The zero value is ready to
// use, and safe for concurrent use.
type Tracker struct {
	mu    sync.Mutex
	clock uint64                       // counts reads and writes
	last  map[string]write             // by the file
	seen  map[string]map[string]uint64 // by the session and the file: when it read or wrote it last
}

type write struct {
	at             uint64
	time           time.Time
	session, agent string
}

// With more than maxWritten files, the ones written more than maxWrittenAge ago are
// dropped: no session runs for longer.
const (
	maxWritten    = 10_000
	maxWrittenAge = 24 * time.Hour
)

// Now advances the clock and returns the time by it.
func (t *Tracker) Now() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clock++
	return t.clock
}

// Read notes that a session read a file at the time then, by [Tracker.Now].
func (t *Tracker) Read(sessionID, real string, then uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen == nil {
		t.seen = make(map[string]map[string]uint64)
	}
	files := t.seen[sessionID]
	if files == nil {
		files = make(map[string]uint64)
		t.seen[sessionID] = files
	}
	files[real] = then
}

// Check returns an error if another session has written a file since this one read
// it or, if this one has not read it, since began. The error tells the model to
// read the file again.
func (t *Tracker) Check(sessionID string, began time.Time, real string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.last[real]
	if !ok || last.session == sessionID {
		return nil
	}
	seen, read := t.seen[sessionID][real]
	if read && seen > last.at || !read && !last.time.After(began) {
		return nil
	}
	since := "after you had read it"
	if !read {
		since = "while you worked, and you have not read it"
	}
	return fmt.Errorf("%s was changed by session %s (%s) at %s, %s: read it now, and make your change to what it has become",
		rootfs.Show(real), last.session, cmp.Or(last.agent, "a caller"), last.time.Format(time.TimeOnly), since)
}

// Wrote notes that a session, which runs the agent, has written a file.
func (t *Tracker) Wrote(sessionID, agent, real string) {
	at := t.Now()
	t.Read(sessionID, real, at)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		t.last = make(map[string]write)
	}
	now := time.Now()
	if len(t.last) >= maxWritten {
		for name, old := range t.last {
			if now.Sub(old.time) > maxWrittenAge {
				delete(t.last, name)
			}
		}
	}
	t.last[real] = write{at: at, time: now, session: sessionID, agent: agent}
}

// Forget drops the reads of a session that has ended.
func (t *Tracker) Forget(sessionID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.seen, sessionID)
}

package tool

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/agentworker/worker/tool/internal/rootfs"
)

// writers knows who has written which file of a workspace last, and what sessions
// have read since: no session changes a file as it was before another one's change. It
// knows the file tools of this process alone.
type writers struct {
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

// maxWritten bounds how many files are known; then those written longest ago are
// forgotten: nothing that runs is older than maxWrittenAge.
const (
	maxWritten    = 10_000
	maxWrittenAge = 24 * time.Hour
)

// now returns the time by the clock, which moves on.
func (w *writers) now() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock++
	return w.clock
}

// sees notes that the session of a call has read a file as it was then, or has written it.
func (w *writers) sees(call *Call, real string, then uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		w.seen = make(map[string]map[string]uint64)
	}
	files := w.seen[call.SessionID]
	if files == nil {
		files = make(map[string]uint64)
		w.seen[call.SessionID] = files
	}
	files[real] = then
}

// check returns an error if another session has written the file since that of the
// call has read it, or since it began where it has not.
func (w *writers) check(call *Call, real string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.last[real]
	if !ok || last.session == call.SessionID {
		return nil
	}
	seen, read := w.seen[call.SessionID][real]
	if read && seen > last.at || !read && !last.time.After(call.Began) {
		return nil
	}
	since := "after you had read it"
	if !read {
		since = "while you worked, and you have not read it"
	}
	return fmt.Errorf("%s was changed by session %s (%s) at %s, %s: read it now, and make your change to what it has become",
		rootfs.Show(real), last.session, cmp.Or(last.agent, "a caller"), last.time.Format(time.TimeOnly), since)
}

// wrote notes that the session of a call has written a file.
func (w *writers) wrote(call *Call, real string) {
	at := w.now()
	w.sees(call, real, at)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = make(map[string]write)
	}
	now := time.Now()
	if len(w.last) >= maxWritten {
		for name, old := range w.last {
			if now.Sub(old.time) > maxWrittenAge {
				delete(w.last, name)
			}
		}
	}
	w.last[real] = write{at: at, time: now, session: call.SessionID, agent: call.Agent}
}

// forget drops what is known of the reads of a session that has ended.
func (w *writers) forget(sessionID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.seen, sessionID)
}

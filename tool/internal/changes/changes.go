// Package changes keeps sessions from overwriting each other's changes of files.
package changes

import (
	"cmp"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/agentworker/worker/tool/internal/rootfs"
)

// Tracker remembers what sessions have read and written of files, by their content. So it
// notices a change whoever made it: another session, a command, a person in an editor, or
// another process. The zero value is ready to use, and safe for concurrent use.
type Tracker struct {
	mu   sync.Mutex
	last map[string]write             // by the file: its last write by a file tool
	seen map[string]map[string]string // by the session and the file: the hash of what it read or wrote last
}

type write struct {
	time           time.Time
	session, agent string
	hash           string
}

// With more than maxWritten files, the ones written more than maxWrittenAge ago are
// dropped: no session runs for longer.
const (
	maxWritten    = 10_000
	maxWrittenAge = 24 * time.Hour
)

// Read notes that a session read a file with this hash.
func (t *Tracker) Read(sessionID, real, hash string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read(sessionID, real, hash)
}

func (t *Tracker) read(sessionID, real, hash string) {
	if t.seen == nil {
		t.seen = make(map[string]map[string]string)
	}
	if t.seen[sessionID] == nil {
		t.seen[sessionID] = make(map[string]string)
	}
	t.seen[sessionID][real] = hash
}

// CheckEdit returns an error if the file, whose hash is hash now, is as another session has
// written it since this one read it or, if this one has not read it, since began. The error tells the
// model to read the file again.
func (t *Tracker) CheckEdit(sessionID string, began time.Time, real, hash string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.last[real]
	if !ok || last.session == sessionID || last.hash != hash {
		return nil
	}
	seen, read := t.seen[sessionID][real]
	since := "after you had read it"
	switch {
	case read && seen == hash, !read && !last.time.After(began):
		return nil
	case !read:
		since = "while you worked, and you have not read it"
	}
	return fmt.Errorf("%s was changed by session %s (%s) at %s, %s: %s",
		rootfs.Show(real), last.session, cmp.Or(last.agent, "a caller"), last.time.Format(time.TimeOnly), since, again)
}

// again is what a model is to do about a change that it does not know.
const again = "read it now, and make your change to what it has become"

// CheckReplace is CheckEdit for a call that replaces the whole content. It also returns an
// error if anybody else has changed the file since the session read it.
func (t *Tracker) CheckReplace(sessionID string, began time.Time, real, hash string) error {
	if err := t.CheckEdit(sessionID, began, real, hash); err != nil || hash == "" {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if seen, read := t.seen[sessionID][real]; read && seen != hash {
		return fmt.Errorf("%s was changed after you had read it, by a command, a person or another program: %s", rootfs.Show(real), again)
	}
	return nil
}

// Replaced notes that a session, which runs the agent, has replaced the content of a file by
// one with this hash.
func (t *Tracker) Replaced(sessionID, agent, real, hash string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read(sessionID, real, hash)
	t.wrote(sessionID, agent, real, hash)
}

// Edited notes that a session has changed a part of a file. It knows the rest of the content
// only if it knew the whole before.
func (t *Tracker) Edited(sessionID, agent, real, before, after string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen[sessionID][real] == before {
		t.read(sessionID, real, after)
	}
	t.wrote(sessionID, agent, real, after)
}

// Removed notes that a file was removed: nobody's change of it can be lost.
func (t *Tracker) Removed(real string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.last, real)
	for _, seen := range t.seen {
		delete(seen, real)
	}
}

func (t *Tracker) wrote(sessionID, agent, real, hash string) {
	if t.last == nil {
		t.last = make(map[string]write)
	}
	now := time.Now()
	if len(t.last) >= maxWritten {
		maps.DeleteFunc(t.last, func(_ string, old write) bool { return now.Sub(old.time) > maxWrittenAge })
	}
	t.last[real] = write{now, sessionID, agent, hash}
}

// Forget drops the reads of a session that has ended.
func (t *Tracker) Forget(sessionID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.seen, sessionID)
}

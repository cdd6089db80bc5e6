package watch

import (
	"time"

	"github.com/agentworker/worker/agentdefs/internal/scan"
)

// How long to wait for more events before files are read. A single save is
// there at once; a checkout is one snapshot.
const (
	quietFile   = time.Millisecond       // after an event of one file
	quietAgain  = 4 * time.Millisecond   // the same, right after a snapshot: more may come of the changes before it
	quietMany   = 25 * time.Millisecond  // after one of many, or of a folder
	quietAtMost = 500 * time.Millisecond // after the first event, whatever comes
)

// Debounce collects the events since files were last read. The zero value has
// none.
type Debounce struct {
	first time.Time       // event; zero means there is none
	last  time.Time       // event
	paths map[string]bool // of files
	many  bool            // more than one file is involved
	all   bool            // any file may have changed
}

// Add takes an event that has an effect.
func (b *Debounce) Add(path string, what scan.Effect, now time.Time) {
	if b.first.IsZero() {
		b.first, b.paths = now, map[string]bool{}
	}
	b.last = now
	b.paths[path] = true
	b.many = b.many || what == scan.Structure || len(b.paths) > 1
}

// AddAll notes that any file may have changed, for example because events were
// lost.
func (b *Debounce) AddAll(now time.Time) {
	b.Add("", scan.Structure, now)
	b.all = true
}

// Due returns when files should be read, after a snapshot of that time; zero means
// nothing has changed.
func (b *Debounce) Due(snapshot time.Time) time.Time {
	if b.first.IsZero() {
		return time.Time{}
	}
	quiet := quietFile
	switch {
	case b.many:
		quiet = quietMany
	case b.first.Sub(snapshot) < 2*quietMany:
		quiet = quietAgain
	}
	return Earlier(b.last.Add(quiet), b.first.Add(quietAtMost))
}

// Changed reports whether an event was about the file at a real path.
func (b *Debounce) Changed(real string) bool { return b.all || b.paths[real] }

// Earlier returns the earlier of two times. A zero time means never.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

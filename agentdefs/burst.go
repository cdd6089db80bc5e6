package agentdefs

import "time"

// How long to wait for more events before files are read. A single save is
// there at once; a checkout is one snapshot.
const (
	quietFile   = time.Millisecond       // after an event of one file
	quietAgain  = 4 * time.Millisecond   // the same, right after a snapshot: there may be more of the burst before
	quietMany   = 25 * time.Millisecond  // after one of many, or of a folder
	quietAtMost = 500 * time.Millisecond // after the first event, whatever comes
)

// burst is the events since files were last read.
type burst struct {
	since    time.Time       // of the first; zero: there is none
	last     time.Time       // of the last
	paths    map[string]bool // of files
	many     bool            // more than one file is involved
	mistrust bool            // events were lost: any file may have changed
}

// add takes an event that is not irrelevant.
func (b *burst) add(path string, what relevance, now time.Time) {
	if b.since.IsZero() {
		b.since, b.paths = now, map[string]bool{}
	}
	b.last = now
	b.paths[path] = true
	b.many = b.many || what == ofPlace || len(b.paths) > 1
}

// lost takes the news that events were lost.
func (b *burst) lost(now time.Time) {
	b.add("", ofPlace, now)
	b.mistrust = true
}

// due is when files should be read, after a snapshot of that time; zero: there
// is no reason.
func (b *burst) due(snapshot time.Time) time.Time {
	if b.since.IsZero() {
		return time.Time{}
	}
	quiet := quietFile
	switch {
	case b.many:
		quiet = quietMany
	case b.since.Sub(snapshot) < 2*quietMany:
		quiet = quietAgain
	}
	return earlier(b.last.Add(quiet), b.since.Add(quietAtMost))
}

// changed is [reader.changed] for the events of b.
func (b *burst) changed(real string) bool { return b.mistrust || b.paths[real] }

// earlier returns the earlier of two times, of which a zero one is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

package live

import (
	"cmp"
	"slices"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/store"
)

// Tree is the sessions that are known, by their ids. The zero value has none. It is for
// one goroutine.
type Tree struct{ sessions map[string]*Session }

// Fact is what is heard of a session: an event or, of pieces of what its model says,
// that there was one.
type Fact struct {
	Path  []string // the ids from the root down to the session
	Event event.Event
	At    time.Time // when it was stored
	Seq   uint64    // its number in the store; 0 means it is not known
}

// Get returns the session of an id; nil means it is not known.
func (t *Tree) Get(id string) *Session { return t.sessions[id] }

func (t *Tree) at(id string) *Session {
	s := t.sessions[id]
	if s == nil {
		s = &Session{ID: id, Status: store.Queued}
		if t.sessions == nil {
			t.sessions = make(map[string]*Session)
		}
		t.sessions[id] = s
	}
	return s
}

// List takes over the list of the sessions that are shown. Those that it lacks are
// forgotten, unless they have only just begun.
func (t *Tree) List(records []*store.Record) {
	listed := make(map[string]bool, len(records))
	for _, r := range records {
		listed[r.ID] = true
		t.at(r.ID).put(r)
	}
	for id, s := range t.sessions {
		if !listed[id] && (s.stored || s.Status.Ended()) {
			delete(t.sessions, id)
		}
	}
}

// Tell takes over what is heard of a session.
func (t *Tree) Tell(f Fact) {
	s := t.at(f.Path[len(f.Path)-1])
	if n := len(f.Path); n > 1 {
		s.ParentID = f.Path[n-2]
	}
	s.event(f.Event, f.At)
}

// Ask takes over the approvals that wait.
func (t *Tree) Ask(pending []*store.Approval) {
	for _, s := range t.sessions {
		s.Asks = nil
	}
	for _, a := range pending {
		if s := t.sessions[a.SessionID]; s != nil && !s.Status.Ended() {
			s.Asks = append(s.Asks, a)
		}
	}
}

// Row is a session at its place in the tree.
type Row struct {
	*Session
	Branch string // the lines of the tree before it: "", "├ ", "│ └ "
	Below  bool   // a session below it needs somebody
}

// Rows returns the sessions as a tree: what needs somebody first, then what runs, then
// what has ended; of the same kind the newest first. ended false: without the sessions
// that have ended, unless one below them runs.
func (t *Tree) Rows(ended bool) []Row {
	below := make(map[string][]*Session) // by parent
	for _, s := range t.sessions {
		parent := s.ParentID
		if t.sessions[parent] == nil {
			parent = ""
		}
		below[parent] = append(below[parent], s)
	}
	b := &build{below: below, rank: make(map[string]int, len(t.sessions))}
	for _, s := range below[""] {
		b.ranked(s)
	}
	b.add("", "", ended)
	return b.rows
}

// The ranks of sessions, the first one first.
const (
	needing = iota
	running
	over
)

type build struct {
	below map[string][]*Session
	rank  map[string]int // of a session and all below it, by its id
	rows  []Row
}

// ranked notes the rank of a session and of those below it.
func (b *build) ranked(s *Session) int {
	rank := own(s)
	for _, child := range b.below[s.ID] {
		rank = min(rank, b.ranked(child))
	}
	b.rank[s.ID] = rank
	return rank
}

func own(s *Session) int {
	switch {
	case s.Needs() != "":
		return needing
	case s.Status.Ended():
		return over
	}
	return running
}

// add adds what is below a session.
func (b *build) add(parent, indent string, ended bool) {
	sessions := b.below[parent]
	if !ended {
		sessions = slices.DeleteFunc(sessions, func(s *Session) bool { return b.rank[s.ID] == over })
	}
	slices.SortFunc(sessions, func(x, y *Session) int {
		return cmp.Or(cmp.Compare(b.rank[x.ID], b.rank[y.ID]), y.Created.Compare(x.Created), cmp.Compare(x.ID, y.ID))
	})
	for i, s := range sessions {
		branch, next := "", ""
		if parent != "" {
			branch, next = indent+"├ ", indent+"│ "
			if i == len(sessions)-1 {
				branch, next = indent+"└ ", indent+"  "
			}
		}
		b.rows = append(b.rows, Row{s, branch, b.rank[s.ID] == needing && own(s) != needing})
		b.add(s.ID, next, ended)
	}
}

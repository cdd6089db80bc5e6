package live

import (
	"cmp"
	"slices"
)

// Row is a session at its place in the tree.
type Row struct {
	*Session
	Branch string // the lines of the tree before it: "", "├ ", "│ └ "
	Below  bool   // a session below it needs a person
}

// Rows returns the sessions as a tree. Sessions that need a person come first, then running
// ones, then ended ones, each time the newest first. Without ended, an ended session is left
// out, unless one below it runs.
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

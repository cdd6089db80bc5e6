package live

import (
	"cmp"
	"slices"

	"github.com/agentworker/worker/model"
)

// Row is a session at its place in the tree.
type Row struct {
	*Session
	Branch string // the lines of the tree before it: "", "├ ", "│ └ "
	Below  bool   // a session below it needs a person

	Subagents int         // the sessions below it
	Total     model.Usage // its own usage, and that of those below it
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
	b := &build{below: below, trees: make(map[string]subtree, len(t.sessions))}
	for _, s := range below[""] {
		b.sum(s)
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
	trees map[string]subtree // by the id of the session at its top
	rows  []Row
}

// subtree is what is known of a session and of all below it.
type subtree struct {
	rank     int
	sessions int
	usage    model.Usage
}

// sum notes what is known of a session and of those below it.
func (b *build) sum(s *Session) subtree {
	all := subtree{own(s), 1, s.Usage}
	for _, child := range b.below[s.ID] {
		under := b.sum(child)
		all.rank = min(all.rank, under.rank)
		all.sessions += under.sessions
		all.usage = all.usage.Add(under.usage)
	}
	b.trees[s.ID] = all
	return all
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
		sessions = slices.DeleteFunc(sessions, func(s *Session) bool { return b.trees[s.ID].rank == over })
	}
	slices.SortFunc(sessions, func(x, y *Session) int {
		return cmp.Or(cmp.Compare(b.trees[x.ID].rank, b.trees[y.ID].rank), y.Created.Compare(x.Created), cmp.Compare(x.ID, y.ID))
	})
	for i, s := range sessions {
		branch, next := "", ""
		if parent != "" {
			branch, next = indent+"├ ", indent+"│ "
			if i == len(sessions)-1 {
				branch, next = indent+"└ ", indent+"  "
			}
		}
		all := b.trees[s.ID]
		b.rows = append(b.rows, Row{s, branch, all.rank == needing && own(s) != needing, all.sessions - 1, all.usage})
		b.add(s.ID, next, ended)
	}
}

package agentdefs

import (
	"slices"
)

// Change is a new snapshot, and how its agents differ from those of the one
// before. All three lists may be empty: then diagnostics have changed.
type Change struct {
	Snapshot *Snapshot

	// Names, sorted. A definition has changed if it differs in any way,
	// [Definition.Stale] included.
	Added, Changed, Removed []string
}

// node is a change in the order of changes. A reader that is slow holds on to
// an old one, and thereby to all that came after it.
type node struct {
	change Change
	ready  chan struct{} // closed when next is set
	next   *node
}

func newNode(c Change) *node { return &node{change: c, ready: make(chan struct{})} }

// changeTo compares s, nil for nothing, with the snapshot after it.
func (s *Snapshot) changeTo(next *Snapshot) Change {
	c := Change{Snapshot: next}
	for _, d := range next.agents {
		if s == nil {
			c.Added = append(c.Added, d.Name)
		} else if old, ok := s.byName[d.Name]; !ok {
			c.Added = append(c.Added, d.Name)
		} else if !old.same(next.byName[d.Name]) {
			c.Changed = append(c.Changed, d.Name)
		}
	}
	if s != nil {
		for _, d := range s.agents {
			if _, ok := next.byName[d.Name]; !ok {
				c.Removed = append(c.Removed, d.Name)
			}
		}
	}
	return c
}

// same reports whether two snapshots differ in nothing but their versions. The
// change from s to next is then empty.
func (s *Snapshot) same(next *Snapshot, c *Change) bool {
	return len(c.Added)+len(c.Changed)+len(c.Removed) == 0 && s.dir == next.dir &&
		slices.Equal(s.diagnostics, next.diagnostics) && slices.Equal(s.unserved, next.unserved)
}

package agentdefs

import (
	"context"
	"iter"
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

// Changes yields the snapshot now in force, with all its agents as Added, and
// then each later one, in order and once. A slow reader misses none. It ends
// when ctx does or, after the last one, when the registry is closed. Any number
// of readers may range at once; leaving the loop leaves nothing behind.
func (r *Registry) Changes(ctx context.Context) iter.Seq[Change] {
	return func(yield func(Change) bool) {
		at := r.head.Load()
		for c := (*Snapshot)(nil).changeTo(at.change.Snapshot); ctx.Err() == nil && yield(c); c = at.change {
			select {
			case <-at.ready:
			case <-ctx.Done():
				return
			case <-r.done: // nothing is added any more
				select {
				case <-at.ready:
				default:
					return
				}
			}
			at = at.next
		}
	}
}

package page

import (
	"cmp"
	"slices"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/live"
	"github.com/agentworker/worker/session/record"
)

const (
	// endedRows bounds the ended sessions that are kept; up to cutRows more until some are
	// forgotten.
	endedRows = 1500
	cutRows   = 500

	// lookups is how many records are looked up at a time. The record of an ended session is
	// looked up until it has the end, recordTries times at most.
	lookups     = 20
	recordTries = 50
)

// rows is all that browsers are shown of what changes. Each change gets a revision, so that a
// browser is sent what it lacks.
type rows struct {
	revision  uint64 // of the latest change
	tree      live.Tree
	changed   map[string]uint64 // by session: the revision of its latest change
	lookups   map[string]int    // by session: how many lookups of its record are left
	approvals []*approval.Approval
	asked     uint64 // the revision of approvals
	agents    uint64 // the revision of the last change of agents
	cut       uint64 // the revision at which rows were removed last: a browser that was there before starts again
}

func newRows() *rows {
	return &rows{revision: 1, asked: 1, agents: 1, changed: make(map[string]uint64), lookups: make(map[string]int)}
}

// next is the revision of a change.
func (r *rows) next() uint64 {
	r.revision++
	return r.revision
}

// put adds a record. One that is older than its session's end adds nothing.
func (r *rows) put(rec *record.Record) {
	if s := r.tree.Get(rec.ID); s != nil && s.Status.Ended() && !rec.Status.Ended() {
		return
	}
	r.tree.Put(rec)
	r.changed[rec.ID] = r.next()
	delete(r.lookups, rec.ID)
}

// apply adds an event.
func (r *rows) apply(e live.Event) {
	id := e.ID()
	if r.tree.Get(id) == nil {
		r.lookups[id] = 1 // its record says more than its events
	}
	s := r.tree.Apply(e)
	if s == nil {
		return
	}
	if r.changed[id] = r.next(); s.Status.Ended() {
		r.lookups[id] = recordTries
		r.forget()
	}
}

// ask sets the approvals that wait.
func (r *rows) ask(pending []*approval.Approval) { r.approvals, r.asked = pending, r.next() }

// setBudget sets how much of its budget a session has used.
func (r *rows) setBudget(id string, used event.Budget) {
	s := r.tree.Get(id)
	if s == nil || s.Status.Ended() || s.Budget != nil && *s.Budget == used {
		return
	}
	s.Budget, r.changed[id] = &used, r.next()
}

// lookUp returns the sessions whose records the caller must look up now.
func (r *rows) lookUp() (ids []string) {
	for id, left := range r.lookups {
		if len(ids) == lookups {
			break
		}
		if ids = append(ids, id); left == 1 {
			delete(r.lookups, id)
		} else {
			r.lookups[id]--
		}
	}
	return ids
}

// running returns the sessions that have not ended.
func (r *rows) running() []*live.Session {
	return slices.DeleteFunc(slices.Collect(r.tree.All()), func(s *live.Session) bool { return s.Status.Ended() })
}

// forget removes the sessions that ended first, where there are too many: many at once,
// since browsers are sent all rows then. Those above a running session stay.
func (r *rows) forget() {
	if len(r.changed) <= endedRows+cutRows {
		return
	}
	above := make(map[string]bool)
	for _, s := range r.running() {
		for up := r.tree.Get(s.ParentID); up != nil && !above[up.ID]; up = r.tree.Get(up.ParentID) {
			above[up.ID] = true
		}
	}
	ended := slices.DeleteFunc(slices.Collect(r.tree.All()), func(s *live.Session) bool { return !s.Status.Ended() || above[s.ID] })
	if len(ended) <= endedRows+cutRows {
		return
	}
	slices.SortFunc(ended, func(a, b *live.Session) int { return a.Ended.Compare(b.Ended) })
	r.remove(ended[:len(ended)-endedRows])
}

// remove removes sessions. Browsers are sent all that are left.
func (r *rows) remove(sessions []*live.Session) {
	for _, s := range sessions {
		r.tree.Remove(s.ID)
		delete(r.changed, s.ID)
		delete(r.lookups, s.ID)
	}
	r.cut = r.next()
}

// since returns what has changed since a revision; 0 means all there is.
func (r *rows) since(seen uint64) (u Update) {
	if seen > r.revision || seen < r.cut {
		seen = 0
	}
	u.Reset = seen == 0
	for id, changed := range r.changed {
		if changed > seen {
			u.Rows = append(u.Rows, newRow(r.tree.Get(id)))
		}
	}
	slices.SortFunc(u.Rows, func(a, b *Row) int { return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
	if r.asked > seen {
		cards := make([]Card, 0, len(r.approvals))
		for _, a := range r.approvals {
			cards = append(cards, newCard(a))
		}
		u.Approvals = &cards
	}
	if r.agents > seen {
		u.Agents = r.agents
	}
	return u
}

package live

import (
	"iter"
	"maps"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/record"
)

// Tree is the sessions that are known, by their ids. The zero value has none. It is for one
// goroutine at a time.
type Tree struct{ sessions map[string]*Session }

// Get returns the session of an id; nil means it is not known.
func (t *Tree) Get(id string) *Session { return t.sessions[id] }

// All returns the sessions in no particular order.
func (t *Tree) All() iter.Seq[*Session] { return maps.Values(t.sessions) }

// Apply updates the session of an event, and returns it. nil means that the event says nothing
// new: it was applied before, or its session has ended.
func (t *Tree) Apply(e Event) *Session {
	s := t.at(e.Path)
	if !s.apply(e) {
		return nil
	}
	return s
}

// Put updates the session of a record, and returns it.
func (t *Tree) Put(r *record.Record) *Session {
	path := r.Path
	if len(path) == 0 {
		path = event.Path{{SessionID: r.ID}}
	}
	s := t.at(path)
	s.put(r)
	return s
}

// at returns the session that a path leads to, which it adds.
func (t *Tree) at(path event.Path) *Session {
	hop := path[len(path)-1]
	s := t.sessions[hop.SessionID]
	if s == nil {
		s = &Session{ID: hop.SessionID, Path: path, Agent: line(hop.AgentType), Status: event.StatusQueued}
		if t.sessions == nil {
			t.sessions = make(map[string]*Session)
		}
		t.sessions[s.ID] = s
	}
	if n := len(path); n > 1 {
		s.ParentID = path[n-2].SessionID
	}
	return s
}

// Remove forgets a session. Those below it stay.
func (t *Tree) Remove(id string) { delete(t.sessions, id) }

// Below returns a session and those below it.
func (t *Tree) Below(id string) []*Session {
	var below []*Session
	for _, s := range t.sessions {
		for at := s; at != nil; at = t.sessions[at.ParentID] {
			if at.ID == id {
				below = append(below, s)
				break
			}
		}
	}
	return below
}

// List updates the tree with the records of all sessions of a view. It forgets the others,
// except new ones, which have no record yet.
func (t *Tree) List(records []*record.Record) {
	listed := make(map[string]bool, len(records))
	for _, r := range records {
		listed[r.ID] = true
		t.Put(r)
	}
	for id, s := range t.sessions {
		if !listed[id] && (s.stored || s.Status.Ended()) {
			delete(t.sessions, id)
		}
	}
}

// Ask replaces the questions of all sessions.
func (t *Tree) Ask(pending []Question) {
	for _, s := range t.sessions {
		s.Questions = nil
	}
	for _, q := range pending {
		if s := t.sessions[q.SessionID]; s != nil && !s.Status.Ended() {
			s.Questions = append(s.Questions, q)
		}
	}
}

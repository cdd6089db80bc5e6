package session

import (
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/notes"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/tool"
)

// Notes are the tools by which a session notes what it has to do: [notes.Tools].
func (m *Manager) Notes() []tool.Tool {
	return notes.Tools(func(id string) (notes.Session, bool) {
		s, ok := m.Live(id)
		return noter{s}, ok
	})
}

// noter is a session that takes notes of its model.
type noter struct{ s *Session }

// NoteTodo implements [notes.Session].
func (n noter) NoteTodo(todo event.Todo) {
	n.s.noted(todo, func(r *store.Record) {
		n.s.todo = todo
		r.Todo = store.ProgressOf(todo)
	})
}

// NotePlan implements [notes.Session].
func (n noter) NotePlan(plan event.Plan) {
	n.s.noted(plan, func(*store.Record) { n.s.plan = plan })
}

// StateText is what the session has noted for itself, as a model reads it: its plan
// and its list of what is to be done. Empty means nothing.
func (s *Session) StateText() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return notes.Text(s.plan, s.todo)
}

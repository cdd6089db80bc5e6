package session

import "github.com/agentworker/worker/session/store"

// Live returns a session that runs in this process.
func (m *Manager) Live(id string) (*Session, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.live[id]
	return s, ok
}

// Store returns the stored sessions.
func (m *Manager) Store() *store.Store { return m.store }

func (m *Manager) forget(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.live, id)
}

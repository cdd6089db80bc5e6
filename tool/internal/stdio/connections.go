package stdio

import (
	"errors"
	"sync"
)

// Connections are the servers that sessions have open, by a key within each session. It is safe
// for concurrent use. The zero value has none.
type Connections[C interface{ Close() error }] struct {
	mu     sync.Mutex
	open   map[string]map[string]C
	closed bool
}

// Get returns the connection of a session with a key. make makes the first one. After
// [Connections.Close] it returns an error.
func (s *Connections[C]) Get(sessionID, key string, make func() C) (C, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.open[sessionID][key]
	if s.closed {
		return c, errors.New("the worker is ending")
	}
	if !ok {
		if s.open == nil {
			s.open = map[string]map[string]C{}
		}
		if s.open[sessionID] == nil {
			s.open[sessionID] = map[string]C{}
		}
		c = make()
		s.open[sessionID][key] = c
	}
	return c, nil
}

// All returns all connections.
func (s *Connections[C]) All() (all []C) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.open {
		for _, c := range of {
			all = append(all, c)
		}
	}
	return all
}

// End closes the connections of a session side by side, and returns once nothing of them runs.
func (s *Connections[C]) End(sessionID string) error {
	s.mu.Lock()
	all := s.open[sessionID]
	delete(s.open, sessionID)
	s.mu.Unlock()
	errs := make(chan error, len(all))
	for _, c := range all {
		go func() { errs <- c.Close() }()
	}
	var wrong []error
	for range all {
		wrong = append(wrong, <-errs)
	}
	return errors.Join(wrong...)
}

// Close ends all sessions.
func (s *Connections[C]) Close() error {
	s.mu.Lock()
	s.closed = true
	var sessions []string
	for id := range s.open {
		sessions = append(sessions, id)
	}
	s.mu.Unlock()
	var errs []error
	for _, id := range sessions {
		errs = append(errs, s.End(id))
	}
	return errors.Join(errs...)
}

package session

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/agentworker/worker/session/store"
)

// dropEnded stops the sessions of this process that another one has ended.
func (m *Manager) dropEnded(ctx context.Context) error {
	m.mu.Lock()
	live := slices.Collect(maps.Values(m.live))
	m.mu.Unlock()
	for _, s := range live {
		r, err := m.store.Taken(ctx, s.id)
		if err != nil {
			return err
		}
		if r != nil {
			_ = s.lose(r) // it is told to whoever runs the session
		}
	}
	return nil
}

// TakenError tells that another process has ended the session, because it took
// this process for gone. It is a [store.ErrEnded].
type TakenError struct {
	SessionID string
	Status    store.Status // what it was ended as
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("session %s is %s: another process has ended it, since this one gave no sign of life for %s or more (stopped, asleep, or cut off from the event store)",
		e.SessionID, e.Status, store.LeaseTTL)
}

// Is reports whether target is [store.ErrEnded].
func (e *TakenError) Is(target error) bool { return target == store.ErrEnded }

// lose stops a session that another process has ended as r says: nothing more of
// it is published.
func (s *Session) lose(r *store.Record) error {
	err := &TakenError{s.id, r.Status}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.record.Closed && !s.taken.Swap(true) {
		s.m.log.Warn("a session is stopped: another process has ended it", "session", s.id, "status", r.Status)
		s.record, s.broken = *r, err
		if s.clock != nil {
			s.clock.cancel(err)
		}
	}
	return err
}

// indexed is a session as the owner of its record in the index.
type indexed struct{ s *Session }

// Taken implements [store.IndexOwner].
func (i indexed) Taken(r *store.Record) { _ = i.s.lose(r) }

// Unstored implements [store.IndexOwner].
func (i indexed) Unstored(err error) { i.s.note(err) }

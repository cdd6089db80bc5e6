package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/store"
)

// lostSession is a session that this process does not run any more, and whose end it does
// not know to be stored.
type lostSession struct {
	session *Session
	stream  *eventbus.Publisher // what is on its way of it may still end it; nil means that does not
	taken   bool                // another process has claimed it, and may not have ended it
}

// over reports whether nothing of the session is on its way any more.
func (l lostSession) over() bool { return l.stream == nil || l.stream.Err() != nil }

// belowPause is the pause between two attempts to end what is lost below a session.
const belowPause = 100 * time.Millisecond

// leave leaves a session that has not ended in the store to the sweeps, which end it
// once the store allows it and what is on its way of it is stored, or given up.
func (s *Session) leave() { s.m.lose(lostSession{session: s, stream: s.stream()}) }

func (m *Manager) lose(l lostSession) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost[l.session.id] = l
}

// endLost ends the lost sessions of this process of which nothing is on its way and, unless
// they are to be left, those of processes that have gone.
func (m *Manager) endLost(ctx context.Context, k *lease.Keeper, leave bool) (ended int, err error) {
	m.mu.Lock()
	all := maps.Clone(m.lost)
	m.mu.Unlock()
	lost := make(map[string]*store.Record)
	for id, l := range all {
		if l.over() {
			lost[id] = l.record()
		}
	}
	if ended, err = m.recover(ctx, k, leave, func(id string) *store.Record { return lost[id] }); err != nil {
		return ended, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range lost {
		delete(m.lost, id)
	}
	return ended, nil
}

// record is what this process knows of the session's end.
func (l lostSession) record() *store.Record {
	if l.taken {
		return new(store.Record)
	}
	r := l.session.Record()
	return &r
}

// endBelow returns once the sessions of this process below s that are lost have ended: a
// session ends after those below it. What is on its way is stored before the end of s.
func (s *Session) endBelow() error {
	if !s.m.lostBelow(s.path) {
		return nil
	}
	ctx, cancel := s.storeContext()
	defer cancel()
	for {
		_, err := s.m.endLost(ctx, s.m.keeper, true)
		if !s.m.lostBelow(s.path) {
			return nil
		}
		select {
		case <-time.After(belowPause):
		case <-ctx.Done():
			if err == nil {
				err = context.Cause(ctx)
			}
			return fmt.Errorf("session %s: a session below it has not ended in the event store: %w", s.id, err)
		}
	}
}

func (m *Manager) lostBelow(path event.Path) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.lost {
		below := l.session.path
		if len(below) > len(path) && slices.Equal(below[:len(path)], path) && l.over() {
			return true
		}
	}
	return false
}

// endLater leaves the end of the session, with the sessions below it, to the sweeps.
func (s *Session) endLater(status store.Status, why error) {
	s.mu.Lock()
	s.record.End(status, why, time.Now().UTC())
	s.index()
	s.mu.Unlock()
	s.m.lose(lostSession{session: s})
}

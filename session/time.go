package session

import (
	"cmp"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/lifetime"
	"github.com/agentworker/worker/session/store"
)

// HoldTime stops the clocks of the session and of those above it until resume
// is called. It is for waits that are not the session's own work.
func (s *Session) HoldTime() (resume func()) {
	var held []*lifetime.Clock
	var watches []*lifetime.Watch
	for at := s; at != nil; at = at.parent {
		c := at.time()
		c.Pause()
		held = append(held, c)
		if w := at.watched.Now(); w != nil {
			w.Pause()
			watches = append(watches, w)
		}
	}
	return func() {
		for _, c := range held {
			c.Resume()
		}
		for _, w := range watches {
			w.Resume()
		}
	}
}

// time returns the clock of the running turn, or nil.
func (s *Session) time() *lifetime.Clock {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock
}

// watchStall begins the watch over a turn, if there is to be one. It is to be stopped.
func (t *Turn) watchStall() {
	s := t.s
	if limit := cmp.Or(s.stall, s.stallNotice); limit > 0 {
		end := t.bond.Cancel
		if s.stall == 0 {
			end = nil
		}
		s.watched.Begin(lifetime.NewWatch(limit, end, func(idle time.Duration) {
			s.sayStalled(true)
			s.publish(event.Stalled{IdleMs: idle.Milliseconds(), StopsInMs: s.stall.Milliseconds()})
		}, func() { s.sayStalled(false) }))
	}
	if s.parent != nil {
		s.parent.watched.Enter()
	}
}

func (t *Turn) unwatchStall() {
	t.s.watched.End()
	if p := t.s.parent; p != nil {
		p.watched.Leave()
	}
}

// sayStalled notes in the record whether the session has stalled.
func (s *Session) sayStalled(stalled bool) {
	s.note(s.change(func(r *store.Record) error {
		r.Stalled = stalled
		return nil
	}))
}

package session

import (
	"context"
	"fmt"
	"time"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/session/store"
)

const (
	// brokenTimeout is [store.WriteTimeout] once the store has failed the session: it
	// is tried, and not waited for again.
	brokenTimeout = time.Second

	// waitsEvery is how often what waits for a stopped process looks whether it is to
	// go on.
	waitsEvery = time.Second
)

// lateError tells that the store has not taken something in time.
type lateError struct {
	after     time.Duration
	diagnosis string
}

func (e *lateError) Error() string {
	return fmt.Sprintf("the event store has not taken it within %s%s", errtext.Duration(e.after.Round(time.Second)), e.diagnosis)
}

// Is reports whether target is [context.DeadlineExceeded].
func (e *lateError) Is(target error) bool { return target == context.DeadlineExceeded }

// storeContext bounds a write to the store, whatever has become of the session's own
// context: by [store.WriteTimeout] or, for as long as [Session.waits], by
// [eventbus.Bus.Patience].
func (s *Session) storeContext() (context.Context, context.CancelFunc) {
	if s.brokenBy() != nil {
		return context.WithTimeout(s.background, brokenTimeout)
	}
	ctx, cancel := context.WithCancelCause(s.background)
	began := time.Now()
	var timer *time.Timer
	s.mu.Lock()
	defer s.mu.Unlock()
	timer = time.AfterFunc(store.WriteTimeout, func() {
		if left := s.m.bus.Patience() - s.m.bus.Waited(began); left > 0 && s.waits() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if ctx.Err() == nil {
				timer.Reset(min(left, waitsEvery))
			}
			return
		}
		cancel(&lateError{time.Since(began), s.m.bus.Diagnosis()})
	})
	return ctx, func() {
		cancel(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		timer.Stop()
	}
}

// waits reports whether somebody waits for this session, and it has time left, as all
// above it.
func (s *Session) waits() bool {
	for at := s; ; at = at.parent {
		if at.life.Over() != nil || at.time().Over() {
			return false
		}
		if at.parent == nil {
			return at.caller.Err() == nil
		}
	}
}

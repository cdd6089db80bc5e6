package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentworker/worker/session/store"
)

// StoppedError is why the work of a session ended: somebody has stopped it. It
// is a [context.Canceled].
type StoppedError struct {
	By string // for people: "alice by worker sessions stop"
}

func (e *StoppedError) Error() string { return "stopped by " + e.By }

// Is reports whether target is [context.Canceled].
func (e *StoppedError) Is(target error) bool { return target == context.Canceled }

// stop ends what the session does, and returns when it has ended, or ctx has.
func (s *Session) stop(ctx context.Context, why *StoppedError) error {
	s.life.End(why)
	if s.lasting {
		if err := s.drained(ctx); err != nil {
			return err
		}
		if err := s.End(store.Cancelled, why); err != nil && !errors.Is(err, store.ErrEnded) {
			return err
		}
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Bound returns a context that ends with ctx, and when the session is stopped.
func (s *Session) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	b := s.life.Bind(ctx)
	return b.Context(), b.Release
}

// begin counts a call of a caller as one that runs, unless the session has been
// stopped.
func (s *Session) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.life.Over(); err != nil {
		return fmt.Errorf("session %s takes no more calls: %w", s.id, err)
	}
	s.active++
	return nil
}

// finish ends what begin began, and reports whether it was the last call.
func (s *Session) finish() (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active--; s.active == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
	return s.active == 0
}

// drained returns when no call of a caller runs in a session that is stopped.
func (s *Session) drained(ctx context.Context) error {
	s.mu.Lock()
	if s.active == 0 {
		s.mu.Unlock()
		return nil
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/store"
)

// Mover runs a session for a call that waits for its end.
type Mover interface {
	// MoveToBackground has the call return at once, while the session goes on in the
	// background. [ErrNotWaiting]: the call does not wait yet. by says to people who
	// wants it.
	MoveToBackground(by string) error
}

// MoveToBackground has the call return that waits for the session, which goes on in
// the background: see [Mover]. One that is there stays there.
func (s *Session) MoveToBackground(by string) error {
	switch {
	case s.Record().Background:
		return nil
	case s.child != nil:
		return s.child.moveToBackground(by)
	case s.mover == nil:
		return errors.New("no call of task waits for it")
	}
	return s.mover.MoveToBackground(by)
}

// InBackground notes that the session runs in the background from now on, and returns
// when that is stored.
func (s *Session) InBackground(by string) error {
	s.publish(event.MovedToBackground{By: by})
	ctx, cancel := s.storeContext()
	defer cancel()
	if err := s.flush(ctx); err != nil {
		return err
	}
	return s.change(func(r *store.Record) error {
		r.Background = true
		return nil
	})
}

// BeginBelow is Begin for a turn that ends with ctx, unless [Session.Adopt] takes it
// out of that.
func (s *Session) BeginBelow(ctx context.Context, prompt string) *Turn {
	return s.Begin(s.background, prompt).endWith(ctx)
}

// endWith has a turn that has not started end with ctx, unless [Session.Adopt] takes it
// out of that.
func (t *Turn) endWith(ctx context.Context) *Turn {
	if ctx.Err() != nil {
		t.bond.Cancel(context.Cause(ctx))
		return t
	}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.below = context.AfterFunc(ctx, func() { t.bond.Cancel(context.Cause(ctx)) })
	return t
}

// apart ends what BeginBelow has begun, and reports whether that was still there.
func (t *Turn) apart() bool {
	t.s.mu.Lock()
	below := t.below
	t.below = nil
	t.s.mu.Unlock()
	return below == nil || below()
}

// Adopt has the turn of a session below, which a call waits for, go on as [Session.Go]
// has it: beside what the session does. leave says that it has ended.
func (s *Session) Adopt(t *Turn) (leave func(), err error) {
	if err := s.enterBeside(); err != nil {
		return nil, err
	}
	if !t.apart() {
		s.beside.leave()
		return nil, fmt.Errorf("session %s is being cancelled", t.s.id)
	}
	bond := s.life.Bind(s.background)
	loose := context.AfterFunc(bond.Context(), func() { t.bond.Cancel(context.Cause(bond.Context())) })
	return func() {
		loose()
		bond.Release()
		s.beside.leave()
	}, nil
}

// Extend gives the turn's session more time.
func (t *Turn) Extend(by time.Duration) {
	s := t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extra += by
	s.clock.Extend(by)
}

package session

import (
	"context"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/store"
)

// Mover runs a session for a call that waits for its end. Use [Task].
type Mover interface {
	MoveToBackground(by string) error
}

// Turn is one turn of a session. Use [Child].
type Turn struct{ t *turn }

// Context is the turn's.
func (t *Turn) Context() context.Context { return t.t.context() }

// Release ends a turn that is not run.
func (t *Turn) Release() { t.t.release() }

// Start starts the turn.
func (t *Turn) Start() { t.t.start() }

// Run runs the turn.
func (t *Turn) Run() *Outcome { return t.t.run() }

// Extend gives the turn more time.
func (t *Turn) Extend(by time.Duration) { t.t.s.life.Extend(by) }

// Begin returns a turn.
func (s *Session) Begin(ctx context.Context, prompt string) *Turn {
	return &Turn{s.newTurn(ctx, prompt, nil)}
}

// BeginBelow returns a turn that ends with ctx, unless it is adopted.
func (s *Session) BeginBelow(ctx context.Context, prompt string) *Turn {
	t := s.Begin(s.life.Context(), prompt)
	t.t.endWith(ctx)
	return t
}

// Continue is Begin for a claimed session.
func (s *Session) Continue(ctx context.Context) *Turn {
	return &Turn{s.newTurn(ctx, "", &s.before)}
}

// ContinueBelow is BeginBelow for a claimed session.
func (s *Session) ContinueBelow(ctx context.Context) *Turn {
	t := s.Continue(s.life.Context())
	t.t.endWith(ctx)
	return t
}

// Adopt has the turn of a session below go on in the background.
func (s *Session) Adopt(t *Turn) (leave func(), err error) { return s.adopt(t.t) }

// InBackground notes that the session runs in the background.
func (s *Session) InBackground(by string) error {
	s.log.Publish(event.MovedToBackground{By: by})
	if err := s.log.FlushPatiently(); err != nil {
		return err
	}
	return s.log.Set(func(r *store.Record) { r.Background = true })
}

// HoldTime stops the clocks.
func (s *Session) HoldTime() (resume func()) { return s.life.Hold() }

// GoOnAs is Become.
func (s *Session) GoOnAs(spec Spec) error { return s.Become(spec) }

// GoOn resumes a claimed session: use Open.
func (m *Manager) GoOn(ctx context.Context, spec Spec, t *store.Taken, task int) (*Session, error) {
	spec.Claimed, spec.Task = t, task
	return m.Open(ctx, spec)
}

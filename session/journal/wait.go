package journal

import (
	"context"
	"fmt"
	"time"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/session/index"
)

const (
	// brokenTimeout is [index.WriteTimeout] once the store has failed the session: the
	// store is tried once more, and not waited for.
	brokenTimeout = time.Second

	// lookEvery is how often a wait for a stopped store checks whether anybody still
	// waits for the session.
	lookEvery = time.Second
)

// lateError says that the store has not stored something in time.
type lateError struct {
	after     time.Duration
	diagnosis string
}

func (e *lateError) Error() string {
	return fmt.Sprintf("the event store has not taken it within %s%s", errtext.Duration(e.after.Round(time.Second)), e.diagnosis)
}

// Is reports whether target is [context.DeadlineExceeded].
func (e *lateError) Is(target error) bool { return target == context.DeadlineExceeded }

// StoreContext bounds a write to the store, even if the session is stopped. It lasts for
// [index.WriteTimeout]. While somebody waits for the session ([lifetime.Life.Waits]) it lasts
// for [eventbus.Health.Patience].
func (j *Journal) StoreContext() (context.Context, context.CancelFunc) {
	if j.Err() != nil {
		return context.WithTimeout(j.life.Context(), brokenTimeout)
	}
	ctx, cancel := context.WithCancelCause(j.life.Context())
	began := time.Now()
	var timer *time.Timer
	j.mu.Lock()
	defer j.mu.Unlock()
	timer = time.AfterFunc(index.WriteTimeout, func() {
		if left := j.p.Bus.Health().Patience - j.p.Bus.Store().Waited(began); left > 0 && j.life.Waits() {
			j.mu.Lock()
			defer j.mu.Unlock()
			if ctx.Err() == nil {
				timer.Reset(min(left, lookEvery))
			}
			return
		}
		cancel(&lateError{time.Since(began), j.p.Bus.Health().Diagnosis})
	})
	return ctx, func() {
		cancel(nil)
		j.mu.Lock()
		defer j.mu.Unlock()
		timer.Stop()
	}
}

package embedded

import (
	"context"
	"time"
)

// Suspend hands the store over to another process, if this one runs it: it closes the
// store, and this process does not lead until [Election.Resume]. It is for a process
// that is about to be stopped, which would keep the lock. Run or Join must be running.
func (e *Election) Suspend(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case e.suspend <- done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Resume ends what Suspend has begun: this process takes part again.
func (e *Election) Resume() {
	now := time.Now()
	e.stopped.Store(&now)
	e.suspended.Store(false)
}

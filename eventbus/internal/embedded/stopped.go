package embedded

import (
	"context"
	"errors"
	"sync"
	"time"
)

// StoppedAt returns when the process that leads was last found to be stopped, or this one
// was suspended; the zero time: never. Run looks about once a second.
func (e *Election) StoppedAt() time.Time {
	if e == nil {
		return time.Time{}
	}
	if e.suspended.Load() {
		return time.Now()
	}
	e.Stopped()
	if at := e.stopped.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// Opening calls f, which opens what is in the store while somebody waits for it. If another
// process leads and is stopped for the time that [Election.Join] waits, f's context ends, and
// the error is an [ErrNoLeader]. Other operations wait for longer.
func (e *Election) Opening(ctx context.Context, f func(context.Context) error) error {
	if e == nil {
		return f(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watching.Go(func() { e.giveUp(ctx, cancel) })
	err := f(ctx)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, ErrNoLeader) {
		return cause
	}
	return err
}

// giveUp calls cancel once the process that leads was stopped for a leaderTimeout. It
// counts how often it has seen that: this process may be stopped, too.
func (e *Election) giveUp(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(stoppedInterval)
	defer ticker.Stop()
	for seen := 0; seen < int(leaderTimeout/stoppedInterval); {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if seen++; !e.Stopped() {
			seen = 0
		}
	}
	cancel(e.err())
}

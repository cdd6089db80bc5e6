// Package allowance bounds the time of a command, and leaves out of it what a
// person takes to answer.
package allowance

import (
	"context"
	"sync"
	"time"
)

// Allowance is the time that a command may take. It stands still while a person
// is asked about something that the command wants.
type Allowance struct {
	cancel context.CancelCauseFunc
	cause  error

	mu    sync.Mutex
	left  time.Duration
	since time.Time   // when it last began to run
	holds int         // it stands still while there are any
	timer *time.Timer // nil means it stands still, or is over
}

// New returns a context that ends with cause when the time has been
// used up.
func New(ctx context.Context, limit time.Duration, cause error) (context.Context, *Allowance) {
	ctx, cancel := context.WithCancelCause(ctx)
	a := &Allowance{cancel: cancel, cause: cause, left: limit}
	a.start()
	return ctx, a
}

func (a *Allowance) start() {
	a.since = time.Now()
	a.timer = time.AfterFunc(a.left, func() { a.cancel(a.cause) })
}

// Hold stops the time until resume is called.
func (a *Allowance) Hold() (resume func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.holds++; a.holds == 1 && a.timer != nil {
		a.timer.Stop()
		a.timer = nil
		a.left -= time.Since(a.since)
	}
	return sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.holds--; a.holds == 0 {
			a.start()
		}
	})
}

// End releases the context.
func (a *Allowance) End() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.holds++ // a late resume starts nothing
	if a.timer != nil {
		a.timer.Stop()
	}
	a.cancel(nil)
}

package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/agentworker/worker/internal/errtext"
)

// TimeLimitError is the error of a turn whose session has used up its time, and
// the cause of its context.
type TimeLimitError struct{ Limit time.Duration }

func (e *TimeLimitError) Error() string {
	return fmt.Sprintf("the time limit of %s has passed", errtext.Duration(e.Limit))
}

// clock ends a context when a session has used up its time. It stands still
// while the session waits for somebody's answer.
type clock struct {
	mu      sync.Mutex
	left    time.Duration
	since   time.Time // when it last began to run
	pauses  int
	timer   *time.Timer // nil: no limit
	cancel  context.CancelCauseFunc
	stopped bool
}

// startClock returns a context that ends with [TimeLimitError] once limit has
// passed on the clock. limit 0: never. The caller calls stop.
func startClock(ctx context.Context, limit time.Duration) (context.Context, *clock) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &clock{left: limit, since: time.Now(), cancel: cancel}
	if limit > 0 {
		c.timer = time.AfterFunc(limit, func() { cancel(&TimeLimitError{limit}) })
	}
	return ctx, c
}

// pause stops the clock until resume is called as often. A nil clock has no time.
func (c *clock) pause() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pauses++
	if c.pauses == 1 && c.timer != nil && c.timer.Stop() {
		c.left -= time.Since(c.since)
	}
}

func (c *clock) resume() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pauses--
	if c.pauses == 0 && c.timer != nil && !c.stopped {
		c.since = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}

// stop ends the clock and its context.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.cancel(nil)
}

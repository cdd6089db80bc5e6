package lifetime

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

// Clock ends a context when a session has used up its time. It stands still
// while the session waits for somebody's answer.
type Clock struct {
	mu      sync.Mutex
	limit   time.Duration // all of the time
	left    time.Duration
	since   time.Time // when it last began to run
	pauses  int
	timer   *time.Timer // nil means no limit
	cancel  context.CancelCauseFunc
	stopped bool
}

// NewClock returns a clock that runs. It calls cancel with [TimeLimitError] once
// limit has passed on it, of which some is used. limit 0: never. The caller calls Stop.
func NewClock(cancel context.CancelCauseFunc, limit, used time.Duration) *Clock {
	c := &Clock{limit: limit, left: max(0, limit-used), since: time.Now(), cancel: cancel}
	if limit > 0 {
		c.timer = time.AfterFunc(c.left, c.end)
	}
	return c
}

// Cancel ends the context of the clock for another reason than its time.
func (c *Clock) Cancel(cause error) { c.cancel(cause) }

func (c *Clock) end() {
	c.mu.Lock()
	limit := c.limit
	c.mu.Unlock()
	c.cancel(&TimeLimitError{limit})
}

// Extend gives a clock more time whose time has not passed. A nil clock has none.
func (c *Clock) Extend(by time.Duration) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	running := c.pauses == 0 && !c.stopped
	if c.timer == nil || running && !c.timer.Stop() {
		return
	}
	c.limit += by
	c.left += by
	if running {
		c.timer.Reset(max(0, c.left-time.Since(c.since)))
	}
}

// Restart begins the time anew, with another limit, on a clock whose time has not passed.
// limit 0: never. A nil clock has no time.
func (c *Clock) Restart(limit time.Duration) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	running := c.pauses == 0
	if c.stopped || running && c.timer != nil && !c.timer.Stop() {
		return
	}
	c.limit, c.left, c.since, c.timer = limit, limit, time.Now(), nil
	if limit == 0 {
		return
	}
	if c.timer = time.AfterFunc(limit, c.end); !running {
		c.timer.Stop()
	}
}

// Pause stops the clock until Resume is called as often. A nil clock has no time.
func (c *Clock) Pause() {
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

// Resume ends what Pause has begun.
func (c *Clock) Resume() {
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

// Over reports whether the time has passed, also on a clock that was stopped.
func (c *Clock) Over() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timer != nil && c.pauses == 0 && time.Since(c.since) >= c.left
}

// Stop ends the clock and what it can cancel.
func (c *Clock) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.cancel(nil)
}

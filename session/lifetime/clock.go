package lifetime

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/agentworker/worker/internal/errtext"
)

// TimeLimitError is the error of a turn whose session has used up its time. It is the
// cause of the turn's context.
type TimeLimitError struct{ Limit time.Duration }

func (e *TimeLimitError) Error() string {
	return fmt.Sprintf("the time limit of %s has passed", errtext.Duration(e.Limit))
}

// Clock ends a context when a session has used up its time. It stands still while the
// session waits for somebody's answer. It is safe for concurrent use.
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

// NewClock returns a clock that runs. It calls cancel with a [TimeLimitError] once limit has
// passed, of which the time used has passed already. A limit of 0 never passes. The caller
// calls Stop.
func NewClock(cancel context.CancelCauseFunc, limit, used time.Duration) *Clock {
	c := &Clock{limit: limit, left: max(0, limit-used), since: time.Now(), cancel: cancel}
	if limit > 0 {
		c.timer = time.AfterFunc(c.left, c.end)
	}
	return c
}

func (c *Clock) end() {
	c.mu.Lock()
	limit := c.limit
	c.mu.Unlock()
	c.cancel(&TimeLimitError{limit})
}

// Extend gives a clock more time, unless its time has passed.
func (c *Clock) Extend(by time.Duration) {
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

// Restart begins the time anew with another limit, unless the time has passed. A limit of 0
// never passes.
func (c *Clock) Restart(limit time.Duration) {
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

// Pause stops the clock until Resume is called as often.
func (c *Clock) Pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pauses++
	if c.pauses == 1 && c.timer != nil && c.timer.Stop() {
		c.left -= time.Since(c.since)
	}
}

// Resume ends one Pause.
func (c *Clock) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pauses--
	if c.pauses == 0 && c.timer != nil && !c.stopped {
		c.since = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}

// Over reports whether the time has passed, even on a clock that was stopped.
func (c *Clock) Over() bool {
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

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
	limit   time.Duration // all of the time
	left    time.Duration
	since   time.Time // when it last began to run
	pauses  int
	timer   *time.Timer // nil means no limit
	cancel  context.CancelCauseFunc
	stopped bool
}

// newClock returns a clock that runs. It calls cancel with [TimeLimitError] once
// limit has passed on it, of which some is used. limit 0: never. The caller calls stop.
func newClock(cancel context.CancelCauseFunc, limit, used time.Duration) *clock {
	c := &clock{limit: limit, left: max(0, limit-used), since: time.Now(), cancel: cancel}
	if limit > 0 {
		c.timer = time.AfterFunc(c.left, c.end)
	}
	return c
}

func (c *clock) end() {
	c.mu.Lock()
	limit := c.limit
	c.mu.Unlock()
	c.cancel(&TimeLimitError{limit})
}

// extend gives a clock more time whose time has not passed. A nil clock has none.
func (c *clock) extend(by time.Duration) {
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

// over reports whether the time has passed, also on a clock that was stopped.
func (c *clock) over() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timer != nil && c.pauses == 0 && time.Since(c.since) >= c.left
}

// stop ends the clock and what it can cancel.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.cancel(nil)
}

// HoldTime stops the clocks of the session and of those above it until resume
// is called. It is for waits that are not the session's own work.
func (s *Session) HoldTime() (resume func()) {
	var held []*clock
	var watches []*stallWatch
	for at := s; at != nil; at = at.parent {
		c := at.time()
		c.pause()
		held = append(held, c)
		if w := at.watch.Load(); w != nil {
			w.pause()
			watches = append(watches, w)
		}
	}
	return func() {
		for _, c := range held {
			c.resume()
		}
		for _, w := range watches {
			w.resume()
		}
	}
}

// time returns the clock of the running turn, or nil.
func (s *Session) time() *clock {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock
}

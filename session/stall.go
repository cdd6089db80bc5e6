package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/session/store"
)

// StalledError is the error of a turn whose session has done nothing for too long, and
// the cause of its context.
type StalledError struct{ Idle time.Duration }

func (e *StalledError) Error() string {
	return fmt.Sprintf("nothing has happened for %s: it has stalled", errtext.Duration(e.Idle))
}

// ErrorCode is the code of the error event.
func (*StalledError) ErrorCode() string { return "stalled" }

// stallWatch watches over the events of a session: after limit without one it says
// so, and after limit more it ends the turn. It stands still with the session's clock,
// and while subagents of the session run, over which their own watches are.
type stallWatch struct {
	limit  time.Duration
	cancel context.CancelCauseFunc
	tell   func(idle time.Duration) // that it has stalled
	untell func()                   // that it has not any more

	mu      sync.Mutex
	last    time.Time     // the last event, or when it began to run again
	idle    time.Duration // without an event, before that
	pauses  int
	timer   *time.Timer
	said    bool
	stopped bool
}

// watchStall begins the watch over a turn, if there is to be one. It is to be stopped.
func (t *Turn) watchStall() {
	s := t.s
	if s.stall > 0 {
		s.watch.Store(newStallWatch(s.stall, t.bond.cancel, func(idle time.Duration) {
			s.sayStalled(true)
			s.publish(event.Stalled{IdleMs: idle.Milliseconds(), StopsInMs: s.stall.Milliseconds()})
		}, func() { s.sayStalled(false) }))
	}
	if s.parent != nil {
		t.above = s.parent.watch.Load()
		t.above.pause()
	}
}

func (t *Turn) unwatchStall() {
	t.s.watch.Swap(nil).stop()
	t.above.resume()
}

func newStallWatch(limit time.Duration, cancel context.CancelCauseFunc, tell func(time.Duration), untell func()) *stallWatch {
	w := &stallWatch{limit: limit, cancel: cancel, tell: tell, untell: untell, last: time.Now()}
	w.mu.Lock() // until the timer is there
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(limit, w.look)
	return w
}

// look is called when the limit may have passed.
func (w *stallWatch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || w.pauses > 0 {
		return
	}
	idle, limit := w.idle+time.Since(w.last), w.limit
	if w.said {
		limit *= 2
	}
	switch {
	case idle < limit:
		w.timer.Reset(limit - idle)
	case !w.said:
		w.said = true
		w.tell(idle)
		w.timer.Reset(w.limit)
	default:
		w.cancel(&StalledError{idle.Round(time.Second)})
	}
}

// heard notes an event.
func (w *stallWatch) heard() {
	if w == nil {
		return
	}
	w.mu.Lock()
	said := w.said
	w.said, w.last, w.idle = false, time.Now(), 0
	w.mu.Unlock()
	if said {
		w.untell()
	}
}

func (w *stallWatch) pause() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pauses++; w.pauses == 1 {
		w.idle += time.Since(w.last)
		w.timer.Stop()
	}
}

func (w *stallWatch) resume() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pauses--; w.pauses == 0 && !w.stopped {
		w.last = time.Now()
		w.timer.Reset(max(0, w.limit-w.idle))
	}
}

func (w *stallWatch) stop() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.timer.Stop()
}

// sayStalled notes in the record whether the session has stalled.
func (s *Session) sayStalled(stalled bool) {
	s.note(s.change(func(r *store.Record) error {
		r.Stalled = stalled
		return nil
	}))
}

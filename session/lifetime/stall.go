package lifetime

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentworker/worker/internal/errtext"
)

// StalledError is the error of a turn whose session has done nothing for too long, and
// the cause of its context.
type StalledError struct{ Idle time.Duration }

func (e *StalledError) Error() string {
	return fmt.Sprintf("nothing has happened for %s: it has stalled", errtext.Duration(e.Idle))
}

// ErrorCode is the code of the error event.
func (*StalledError) ErrorCode() string { return "stalled" }

// Watch watches over the events of a session: after limit without one it says
// so, and after limit more it ends the turn, if it is to do so. It stands still with the
// session's clock, and while subagents of the session run, over which their own watches are.
type Watch struct {
	limit  time.Duration
	cancel context.CancelCauseFunc  // nil means the turn goes on
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

// NewWatch returns a watch that runs. It ends nothing if cancel is nil. tell and untell are
// called by goroutines of its own and by those that call Heard. The caller calls Stop.
func NewWatch(limit time.Duration, cancel context.CancelCauseFunc, tell func(time.Duration), untell func()) *Watch {
	w := &Watch{limit: limit, cancel: cancel, tell: tell, untell: untell, last: time.Now()}
	w.mu.Lock() // until the timer is there
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(limit, w.look)
	return w
}

// look is called when the limit may have passed.
func (w *Watch) look() {
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
	case w.cancel == nil:
		w.timer.Reset(w.limit) // it may go on, and stall again
	default:
		w.cancel(&StalledError{idle.Round(time.Second)})
	}
}

// Heard notes an event.
func (w *Watch) Heard() {
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

// Pause stops the watch until Resume is called as often.
func (w *Watch) Pause() {
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

// Resume ends what Pause has begun.
func (w *Watch) Resume() {
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

// Stop ends the watch.
func (w *Watch) Stop() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.timer.Stop()
}

// Watched is what the watches over a session's turns have in common. They stand still while
// subagents of the session run, whichever turn has begun them. The zero value has no watch.
type Watched struct {
	now atomic.Pointer[Watch] // over the turn that runs; nil means there is none

	mu    sync.Mutex // held while now or below changes
	below int        // subagents that run
}

// Begin has a watch count until End. Without one nil is handed over.
func (s *Watched) Begin(w *Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range s.below {
		w.Pause()
	}
	s.now.Store(w)
}

// End ends the watch.
func (s *Watched) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Swap(nil).Stop()
}

// Enter has the watches stand still until Leave is called as often: a subagent runs.
func (s *Watched) Enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.below++
	s.now.Load().Pause()
}

// Leave ends what Enter has begun.
func (s *Watched) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.below--
	s.now.Load().Resume()
}

// Now returns the watch over the turn that runs; nil means there is none.
func (s *Watched) Now() *Watch { return s.now.Load() }

package lifetime

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentworker/worker/internal/errtext"
)

// StalledError is the error of a turn whose session has done nothing for too long. It is the
// cause of the turn's context.
type StalledError struct{ Idle time.Duration }

func (e *StalledError) Error() string {
	return fmt.Sprintf("nothing has happened for %s: it has stalled", errtext.Duration(e.Idle))
}

// ErrorCode is the code of the error event.
func (*StalledError) ErrorCode() string { return "stalled" }

// Watch notices when a session has had no event for some time. After its limit it calls
// tell, and after the limit once more it may end the turn. It stands still with the session's
// clock, and while subagents of the session run, which have watches of their own. A nil
// Watch does nothing. It is safe for concurrent use.
type Watch struct {
	limit  time.Duration
	cancel context.CancelCauseFunc  // nil means the turn goes on
	tell   func(idle time.Duration) // called when the session has stalled
	untell func()                   // called when it works again

	mu      sync.Mutex
	last    time.Time     // of the last event, or when the watch ran again
	idle    time.Duration // the time without an event before that
	pauses  int
	timer   *time.Timer
	said    bool
	stopped bool
}

// NewWatch returns a watch that runs. With a nil cancel it ends nothing. It calls tell in a
// goroutine of its own, and untell in that of Heard. The caller calls Stop.
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

// Resume ends one Pause.
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

// watched is what the watches over a session's turns have in common. They stand still while
// subagents of the session run, whichever turn has begun them. The zero value has no watch.
type watched struct {
	now atomic.Pointer[Watch] // over the turn that runs; nil means there is none

	mu    sync.Mutex // held while now or below changes
	below int        // subagents that run
}

// begin has a watch count until end; nil means that none does.
func (s *watched) begin(w *Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range s.below {
		w.Pause()
	}
	s.now.Store(w)
}

func (s *watched) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Swap(nil).Stop()
}

// enter has the watches stand still until leave is called as often: a subagent runs.
func (s *watched) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.below++
	s.now.Load().Pause()
}

func (s *watched) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.below--
	s.now.Load().Resume()
}

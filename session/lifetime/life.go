package lifetime

import (
	"context"
	"sync"
	"time"
)

// Life is the time in which a session works: up to its stop or end, as long as its turn has
// time left, and as long as anything happens. Lock mu guards the fields below it; those of
// a session above are locked on their own, from the session upwards.
type Life struct {
	Lifetime

	parent  *Life           // nil means the session is a root
	caller  context.Context // of a root, it ends when nobody waits any more
	stored  context.Context
	watched watched

	mu    sync.Mutex
	clock *Clock        // of the turn that runs, or was last; nil means none has begun
	extra time.Duration // that turns have besides their limit
	calls int           // of a caller, that run now
	idle  chan struct{} // closed when none does any more; nil means nobody waits for that
}

// NewLife returns the life of a session below another one; parent is nil for a root.
// caller is the context of whoever opened it.
func NewLife(parent *Life, caller context.Context) *Life {
	return &Life{parent: parent, caller: caller, stored: context.WithoutCancel(caller)}
}

// Context is for what has to be stored, whether or not the session is stopped. It does not
// end.
func (l *Life) Context() context.Context { return l.stored }

// Hold stops the clocks of the session and of those above it until resume is called. It is
// for waits that are not the session's own work.
func (l *Life) Hold() (resume func()) {
	var held []interface{ Resume() }
	for at := l; at != nil; at = at.parent {
		at.mu.Lock()
		if at.clock != nil {
			at.clock.Pause()
			held = append(held, at.clock)
		}
		at.mu.Unlock()
		if w := at.watched.now.Load(); w != nil {
			w.Pause()
			held = append(held, w)
		}
	}
	return func() {
		for _, h := range held {
			h.Resume()
		}
	}
}

// Waits reports whether somebody waits for the session, and it has time left, as all above
// it.
func (l *Life) Waits() bool {
	for at := l; ; at = at.parent {
		at.mu.Lock()
		late := at.clock != nil && at.clock.Over()
		at.mu.Unlock()
		if late || at.Over() != nil {
			return false
		}
		if at.parent == nil {
			return at.caller.Err() == nil
		}
	}
}

// StartTurn starts the clock of a turn, of which the time used has passed already, and has
// w watch over it; w may be nil. EndTurn follows.
func (l *Life) StartTurn(cancel context.CancelCauseFunc, limit, used time.Duration, w *Watch) {
	l.mu.Lock()
	l.clock = NewClock(cancel, limit+l.extra, used)
	l.mu.Unlock()
	l.watched.begin(w)
	if l.parent != nil {
		l.parent.watched.enter()
	}
}

// EndTurn stops the clock of the turn, and what it can cancel.
func (l *Life) EndTurn() {
	l.watched.end()
	if l.parent != nil {
		l.parent.watched.leave()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock.Stop()
}

// CancelTurn ends the turn that runs, if one does.
func (l *Life) CancelTurn(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.clock != nil {
		l.clock.cancel(cause)
	}
}

// Extend gives the session's turns more time, also the one that runs.
func (l *Life) Extend(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.extra += by
	if l.clock != nil {
		l.clock.Extend(by)
	}
}

// Restart begins the time of the turn that runs anew, with another limit.
func (l *Life) Restart(limit time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.extra = 0
	l.clock.Restart(limit)
}

// Heard notes an event of the session.
func (l *Life) Heard() {
	if w := l.watched.now.Load(); w != nil {
		w.Heard()
	}
}

// BeginCall counts a call of a caller, unless the session has been stopped. EndCall follows.
func (l *Life) BeginCall() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.Over(); err != nil {
		return err
	}
	l.calls++
	return nil
}

// EndCall ends what BeginCall began, and reports whether no other call runs.
func (l *Life) EndCall() (last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls--; l.calls == 0 && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
	return l.calls == 0
}

// Drained returns when no call of a caller runs in a session that is stopped.
func (l *Life) Drained(ctx context.Context) error {
	l.mu.Lock()
	if l.calls == 0 {
		l.mu.Unlock()
		return nil
	}
	if l.idle == nil {
		l.idle = make(chan struct{})
	}
	idle := l.idle
	l.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

package embedded

import (
	"time"

	"github.com/agentworker/worker/eventbus/internal/storefiles"
	"github.com/agentworker/worker/internal/termtext"
)

// Failing reports whether this process has tried to open the store in vain, and has not
// reached it since.
func (e *Election) Failing() bool { return e != nil && e.failure.Load() != nil }

// Losses returns what is known to be missing in the store.
func (e *Election) Losses() ([]storefiles.Loss, error) {
	if e == nil {
		return nil, nil
	}
	return storefiles.Losses(e.dir)
}

// Acknowledge forgets what a stream has lost.
func (e *Election) Acknowledge(stream string) error {
	if e == nil {
		return nil
	}
	return storefiles.Acknowledge(e.dir, stream)
}

// Diagnosis returns what is known to be wrong with the store, in the form of a
// remark behind an error that does not say it.
func (e *Election) Diagnosis() string {
	if e == nil {
		return ""
	}
	if l := e.leader.Load(); l != nil {
		if last := l.srvLog.last.Load(); last != nil {
			return " (the store says: " + termtext.OneLine(*last, termtext.MaxCause) + ")"
		}
		return ""
	}
	if e.Moved() != nil { // the error says it
		return ""
	}
	return " (" + termtext.OneLine(e.err().Error(), termtext.MaxCause) + ")"
}

// ErrorSince reports whether the server of this process has logged an error
// since then: what it has not answered by now, it will not answer.
func (e *Election) ErrorSince(since time.Time) bool {
	if e == nil {
		return false
	}
	l := e.leader.Load()
	return l != nil && l.srvLog.lastAt.Load() >= since.UnixNano()
}

// Room returns an error if the store could not be written. It is for what must not be asked
// of the server of a full disk: see [ErrStuck].
func (e *Election) Room() error {
	if e == nil {
		return nil
	}
	e.room.mu.Lock()
	defer e.room.mu.Unlock()
	if time.Since(e.room.had) < roomInterval {
		return nil
	}
	if err := checkRoom(e.dir); err != nil {
		return err
	}
	e.room.had = time.Now()
	return nil
}

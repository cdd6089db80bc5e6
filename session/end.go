package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/tool"
)

// End publishes how the session ended, and returns when all of its events are
// stored; nothing is published after it. status is one that [store.Status.Ended]
// reports. A session ends once; later calls return [store.ErrEnded]. If an event before
// could not be stored, the session has failed whatever status says, and End
// returns why. So it does if the end is not stored in time: it may be later. The end of a
// session comes after those below it, and waits for any that the store has not taken.
func (s *Session) End(status store.Status, why error) error {
	if !status.Ended() {
		return fmt.Errorf("session %s cannot end as %q", s.id, status)
	}
	s.mu.Lock()
	if s.ending {
		s.mu.Unlock()
		return fmt.Errorf("session %s: %w", s.id, store.ErrEnded)
	}
	s.ending = true
	s.mu.Unlock()
	defer func() {
		s.m.forget(s.id)
		s.life.End(store.ErrEnded)
		s.endTools()
		close(s.done)
	}()

	s.endBeside()
	if err := s.endBelow(); err != nil {
		s.endLater(status, why)
		return err
	}
	incomplete := s.endAs(status, why)
	if incomplete == nil || errors.Is(incomplete, store.ErrEnded) {
		return incomplete
	}
	s.note(incomplete)
	p := s.stream()
	if p.Err() == nil { // all of it is on its way, and nothing is lost
		s.leave()
		return incomplete
	}
	if status == store.Completed {
		status, why = store.Failed, incomplete
	}
	if err := s.endAgain(p.Stored(), status, why); err != nil {
		// Its end is found missing, and made up for, by the next sweep that the store
		// has room for: of this process, or of another one when this one has gone.
		s.leave()
		s.mu.Lock()
		s.index()
		s.mu.Unlock()
		return errors.Join(incomplete, err)
	}
	return incomplete
}

// opening is among how many entries at the start of a log its session_start is.
const opening = 3

// endAgain ends a session whose stream the store has failed, after so many entries that
// are known to be stored: there may be more.
func (s *Session) endAgain(stored uint64, status store.Status, why error) error {
	s.mu.Lock()
	s.shown = "" // it may be among what was not stored
	s.mu.Unlock()
	if stored < opening {
		if err := s.started(); err != nil { // the sweep begins it before it ends it
			s.mu.Lock()
			defer s.mu.Unlock()
			s.record.End(status, why, time.Now().UTC())
			return err
		}
	}
	ctx, cancel := s.storeContext()
	defer cancel()
	if err := s.newStream(ctx); errors.Is(err, eventbus.ErrEnded) {
		return s.endedElsewhere(ctx)
	} else if err != nil {
		return err
	}
	return s.endAs(status, why)
}

// started returns an error unless the log has the session's session_start.
func (s *Session) started() error {
	ctx, cancel := s.storeContext()
	defer cancel()
	state, err := s.m.store.State(ctx, s.path)
	if err == nil && !state.Started {
		err = fmt.Errorf("nothing is stored of session %s", s.id)
	}
	return err
}

// endAs ends the session in one wait: for its session_end, which is stored behind
// all that is on its way. Of two processes that end a session the one wins whose
// session_end comes first; that of the other is [store.ErrEnded].
func (s *Session) endAs(status store.Status, why error) error {
	if s.taken.Load() {
		return &TakenError{s.id, s.Record().Status}
	}
	s.mu.Lock()
	s.record.End(status, why, time.Now().UTC())
	s.record.Work.Idle = status == store.Completed && s.parent != nil && s.record.Work.ToolCalls == 0 && s.tools.Acts(s.rules.Agents())
	ended := s.record.EndedEntry()
	s.mu.Unlock()
	switch status {
	case store.Failed, store.TimedOut:
		s.status(event.StatusError)
		s.publish(errorEvent(status, why))
	case store.Cancelled, store.Interrupted:
		s.status(event.StatusAborted)
	}
	s.append(ended)
	ctx, cancel := s.storeContext()
	defer cancel()
	err := s.stream().End(ctx, event.SessionEnd{Status: status})
	if errors.Is(err, eventbus.ErrEnded) {
		return s.endedElsewhere(ctx)
	}
	if err != nil {
		return err
	}
	s.noteEnd(why)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.Closed = true
	s.index()
	return nil
}

// endedElsewhere takes the end that another process has given the session.
func (s *Session) endedElsewhere(ctx context.Context) error {
	state, err := s.m.store.State(ctx, s.path)
	if err != nil {
		return errors.Join(store.ErrEnded, err)
	}
	if state.Record.ID == "" { // it could not begin: another process ends the session above
		state.Record = s.Record()
		state.Record.Status = store.Interrupted
	}
	return s.lose(&state.Record)
}

// endTools ends what tool calls of the session have left.
func (s *Session) endTools() {
	for _, name := range s.tools.Names() {
		if t, ok := s.tools.Get(name).(tool.Sandboxed); ok {
			if err := t.EndSession(s.id); err != nil {
				s.m.log.Error("ending what a session's commands have left", "session", s.id, "err", err)
			}
		}
	}
}

func errorEvent(status store.Status, why error) event.Error {
	ev := event.Error{Code: string(status), Message: string(status)}
	if why != nil {
		ev.Message = errtext.Of(why)
	}
	var coded interface{ ErrorCode() string }
	if errors.As(why, &coded) {
		ev.Code = coded.ErrorCode()
	}
	var modelErr *model.Error
	if errors.As(why, &modelErr) {
		ev.Code = "model_" + string(modelErr.Kind)
	}
	return ev
}

// StoppedError is why the work of a session ended: somebody has stopped it. It
// is a [context.Canceled].
type StoppedError struct {
	By string // for people: "alice by worker sessions stop"
}

func (e *StoppedError) Error() string { return "stopped by " + e.By }

// Is reports whether target is [context.Canceled].
func (e *StoppedError) Is(target error) bool { return target == context.Canceled }

// stop ends what the session does, and returns when it has ended, or ctx has.
func (s *Session) stop(ctx context.Context, why *StoppedError) error {
	s.life.End(why)
	if s.lasting {
		if err := s.drained(ctx); err != nil {
			return err
		}
		if err := s.End(store.Cancelled, why); err != nil && !errors.Is(err, store.ErrEnded) {
			return err
		}
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Bound returns a context that ends with ctx, and when the session is stopped.
func (s *Session) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	b := s.life.Bind(ctx)
	return b.Context(), b.Release
}

// begin counts a call of a caller as one that runs, unless the session has been
// stopped.
func (s *Session) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.life.Over(); err != nil {
		return fmt.Errorf("session %s takes no more calls: %w", s.id, err)
	}
	s.active++
	return nil
}

// finish ends what begin began, and reports whether it was the last call.
func (s *Session) finish() (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active--; s.active == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
	return s.active == 0
}

// drained returns when no call of a caller runs in a session that is stopped.
func (s *Session) drained(ctx context.Context) error {
	s.mu.Lock()
	if s.active == 0 {
		s.mu.Unlock()
		return nil
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

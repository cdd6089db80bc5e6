package session

import (
	"context"
	"errors"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/masking"
	"github.com/agentworker/worker/session/store"
)

func (s *Session) stream() *eventbus.Publisher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.publisher
}

// newStream gives the session a stream in place of one that has failed. Nothing more is
// stored of what that has published.
func (s *Session) newStream(ctx context.Context) error {
	boot := s.m.keeper.BootID()
	return s.streamOf(s.m.bus.Take(ctx, s.path, s.stream().Fence(), boot, boot))
}

// firstStream gives a session that is to begin its stream. The one above has not begun to
// end in another process.
func (s *Session) firstStream() error {
	if s.parent == nil {
		return s.streamOf(s.m.bus.Publisher(s.path))
	}
	return s.streamOf(s.m.bus.Opener(s.path, s.parent.stream()))
}

func (s *Session) streamOf(p *eventbus.Publisher, err error) error {
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.publisher = p
	return nil
}

// status publishes what the session does now, if that is something else.
func (s *Session) status(status event.Status) {
	s.mu.Lock()
	same := s.shown == status
	s.shown = status
	s.mu.Unlock()
	if !same {
		s.publish(event.StatusChange{Status: status})
	}
}

// publish hands an event to the stream, masked. What goes on with the session needs the
// whole of some: that goes to its log. Where the store fails the session is broken, and ends.
func (s *Session) publish(ev event.Event) {
	s.m.keeper.Assure(s.background) // somebody may have ended the session meanwhile
	if s.taken.Load() {
		return // its last event is stored
	}
	if _, stalled := ev.(event.Stalled); !stalled {
		s.watched.Now().Heard()
	}
	shown, differs := masking.Event(ev)
	if differs {
		if whole, needed := store.WholeEntry(ev); needed {
			s.append(whole)
		}
	}
	s.note(s.stream().Publish(s.background, shown))
}

// note takes an error of the store: the session can't go on.
func (s *Session) note(err error) {
	if err == nil || errors.Is(err, store.ErrEnded) {
		return
	}
	s.mu.Lock()
	if errors.Is(err, eventbus.ErrEnded) { // by this process, or the store refuses what comes behind another's end
		ending := s.ending
		s.mu.Unlock()
		if !ending {
			s.loseTo(store.Interrupted)
		}
		return
	}
	defer s.mu.Unlock()
	if s.broken != nil {
		return
	}
	s.broken = err
	if s.clock != nil {
		s.clock.Cancel(err)
	}
}

func (s *Session) brokenBy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// append hands an entry of the log that is no event to the stream. Where that
// fails the session is broken, and ends.
func (s *Session) append(entry store.LogEntry) {
	if !s.taken.Load() {
		s.note(entry.AppendTo(s.background, s.stream()))
	}
}

// flush waits until all that the session, and those above it, have said so far is
// stored, or until ctx ends.
func (s *Session) flush(ctx context.Context) error {
	for at := s; at != nil; at = at.parent {
		if at.stream() == nil { // it has ended
			continue
		}
		err := at.stream().Flush(ctx)
		if at != s && errors.Is(err, eventbus.ErrEnded) { // it has ended, and s is detached
			continue
		}
		if err != nil {
			if at.stream().Err() != nil {
				at.note(err)
			}
			return err
		}
	}
	return nil
}

// AwaitStored waits until all that the session has said so far is stored: who is told of it
// finds it, whatever becomes of this process.
func (s *Session) AwaitStored(ctx context.Context) error { return s.flush(ctx) }

// storing runs f, which writes to the store, whatever has become of the
// session's own context. Where that fails the session is broken.
func (s *Session) storing(f func(context.Context) error) error {
	ctx, cancel := s.storeContext()
	defer cancel()
	err := f(ctx)
	s.note(err)
	return err
}

// publishStarts announces all calls of a message, before any of them is begun: where one
// is missing in a log, none was.
func (s *Session) publishStarts(all []*invocation, step int) {
	calls := len(all)
	if calls == 1 {
		calls = 0 // as the event has it
	}
	for _, inv := range all {
		s.publish(event.ToolCallStart{
			ToolCallID: inv.ID, ToolName: inv.Name, Arguments: inv.Arguments, MessageID: inv.messageID, Step: step, Calls: calls,
		})
	}
}

// publishEnd announces the outcome of a call, and notes it in the record.
func (s *Session) publishEnd(inv *invocation) {
	ev := event.ToolCallEnd{
		ToolCallID: inv.ID,
		ToolName:   inv.Name,
		Result:     inv.res.Text,
		IsError:    inv.res.IsError,
		Truncated:  inv.res.Truncated,
		Refused:    inv.res.Refused,
		Rule:       inv.res.Rule,
		DurationMs: time.Since(inv.start).Milliseconds(),
		Untold:     inv.untold,
	}
	if c := inv.res.Change; c != nil {
		ev.Change = &event.FileChange{Path: c.Path, Before: c.Before, After: c.After}
	}
	s.m.totals.toolCalls.Add(1)
	s.worked(ev, func(w store.Work) store.Work { return w.Add(ev) })
}

// worked publishes an event, and notes in the record what it tells: in the same
// order as the log has it.
func (s *Session) worked(ev event.Event, note func(store.Work) store.Work) {
	s.noted(ev, func(r *store.Record) { r.Work = note(r.Work) })
}

// noted is worked for any field of the record. Others see it with the next change of
// the record.
func (s *Session) noted(ev event.Event, note func(*store.Record)) {
	s.workMu.Lock()
	defer s.workMu.Unlock()
	s.publish(ev)
	s.mu.Lock()
	defer s.mu.Unlock()
	note(&s.record)
}

// Settle says behind a turn that the session waits for its next prompt, and returns the
// sequence number of the event that says so, once that is stored: all that the turn has
// published comes before. The session must not end meanwhile.
func (s *Session) Settle(ctx context.Context) (seq uint64, err error) {
	s.status(event.StatusIdle)
	if err := s.flush(ctx); err != nil {
		return 0, err
	}
	last, err := s.m.bus.Last(ctx, s.path, event.StatusChange{}.Type())
	return last.Seq, err
}

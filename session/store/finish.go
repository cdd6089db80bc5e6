package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// claim is finish, also where the record of the session has changed meanwhile and
// nobody else ends it, or goes on with it: its process may have written what it still had
// to.
func (s *Store) claim(ctx context.Context, o orphan, bootID string, pending []*Approval, end ending) error {
	for tries := 3; ; tries-- {
		err := s.finish(ctx, o, bootID, pending, end)
		if tries == 0 || !errors.Is(err, errConflict) {
			return err
		}
		r, rev, readErr := s.read(ctx, o.ID)
		if readErr != nil {
			return errors.Join(err, readErr)
		}
		if r.Closed || r.EndedBy != o.EndedBy || r.BootID != o.BootID {
			return err
		}
		o = orphan{r, rev}
	}
}

// finish takes a session through what is left of its end, as its log says. Of
// several processes one does, the others get errConflict; so does this one where another
// has taken the session over meanwhile. end is how it ends if its log does not say.
func (s *Store) finish(ctx context.Context, o orphan, bootID string, pending []*Approval, end ending) error {
	state, err := s.State(ctx, o.Path)
	if err != nil {
		return err
	}
	r := state.recordOr(o.Record)
	if r.Closed { // its record alone is behind
		_, err := s.update(ctx, r, o.rev)
		return err
	}
	if r.Takeovers > 0 && r.BootID != o.BootID && r.BootID != bootID { // another process goes on with it, and its record does not say so yet
		_, err := s.own(ctx, o, r)
		return errors.Join(fmt.Errorf("ending session %s: %w", r.ID, errConflict), err)
	}
	if lost, err := s.unbegun(ctx, o, state, bootID); lost || err != nil {
		if err == nil {
			err = s.deleteOne(ctx, r, nil)
		}
		return err
	}
	if o.Status.Ended() { // and its session_end was not stored
		r.Status, r.Error, r.EndedAt = o.Status, o.Error, o.EndedAt
	} else {
		r.End(end.status, end.cause, time.Now().UTC())
	}
	r.EndedBy = bootID
	rev, err := s.update(ctx, r, o.rev)
	if err != nil {
		return err
	}
	if s.beforeEnd != nil {
		s.beforeEnd(r.ID)
	}
	err = s.publishEnd(ctx, state, r, pending)
	if errors.Is(err, eventbus.ErrEnded) { // its own process was not gone, or another has taken it for gone
		if state, err = s.State(ctx, o.Path); err == nil {
			r = state.recordOr(r)
		}
		if err == nil && !r.Closed { // and goes on with it
			err = fmt.Errorf("ending session %s: %w", r.ID, errConflict)
		}
	}
	if err != nil {
		return err
	}
	if s.ended != nil {
		s.ended(r)
	}
	r.Closed = true
	_, err = s.update(ctx, r, rev)
	return err
}

// unbegun reports whether nothing of a session below another one is stored, and nothing may
// be: the one above has ended, or another process ends it, or goes on with it, and what its
// own process has sent is refused. A detached one stands for itself.
func (s *Store) unbegun(ctx context.Context, o orphan, state *State, bootID string) (bool, error) {
	if state.logged || state.Started || len(o.Path) == 1 || o.Detached {
		return false, nil
	}
	above, err := s.State(ctx, o.Path[:len(o.Path)-1])
	if err != nil || !above.logged {
		return false, err
	}
	r := above.Record
	return r.Closed || r.BootID != o.BootID || o.BootID == bootID && above.Fenced, nil
}

// publishEnd adds to the log of a session what it lacks to be complete, and its
// session_end.
func (s *Store) publishEnd(ctx context.Context, state *State, r *Record, pending []*Approval) error {
	p, err := s.bus.Take(ctx, r.Path, state.Fence, r.BootID, r.EndedBy)
	if err != nil {
		return err
	}
	if !state.Started {
		if err := s.begin(ctx, p, state, r); err != nil {
			return err
		}
	}
	if err := s.cancelApprovals(ctx, p, r.ID, pending, state.Pending); err != nil {
		return err
	}
	if (r.Status == Interrupted || r.Status == Cancelled) && state.shown != event.StatusAborted {
		if err := p.Publish(ctx, event.StatusChange{Status: event.StatusAborted}); err != nil {
			return err
		}
	}
	if err := s.tellEnds(ctx, p, state, r); err != nil {
		return err
	}
	if err := r.EndedEntry().AppendTo(ctx, p); err != nil {
		return err
	}
	return p.End(ctx, event.SessionEnd{Status: r.Status})
}

// begin adds to the log of a session the beginning that was lost with its process, and
// before it those of the sessions above: they end later, and each begins before what is
// below it. Another process may do the same.
func (s *Store) begin(ctx context.Context, p *eventbus.Publisher, state *State, r *Record) error {
	if len(r.Path) > 1 {
		if err := s.beginAbove(ctx, r.Path[:len(r.Path)-1]); err != nil {
			return err
		}
	}
	if !state.logged {
		if err := r.OpenedEntry("", nil).appendFirst(ctx, p); err != nil {
			return err
		}
	}
	return p.PublishFirst(ctx, r.StartEvent())
}

// beginAbove is begin for the session at the end of path, if it is listed and has not
// begun.
func (s *Store) beginAbove(ctx context.Context, path event.Path) error {
	above, err := s.State(ctx, path)
	if err != nil || above.Started {
		return err
	}
	stored, _, err := s.read(ctx, path[len(path)-1].SessionID)
	if errors.Is(err, jetstream.ErrKeyNotFound) || err == nil && stored.Closed {
		return nil
	}
	if err != nil {
		return err
	}
	p, err := s.bus.Publisher(path)
	if err != nil {
		return err
	}
	return s.begin(ctx, p, above, above.recordOr(stored))
}

// cancelApprovals ends the questions of a session: those of pending, and of them
// and of those that its log has asked it publishes the outcome.
func (s *Store) cancelApprovals(ctx context.Context, p *eventbus.Publisher, sessionID string, pending []*Approval, asked []string) error {
	outcomes := make(map[string]event.ApprovalOutcome)
	for _, a := range pending {
		if a.SessionID != sessionID {
			continue
		}
		won, _, err := s.Resolve(ctx, a.ID, event.Cancelled, Answer{})
		if err != nil {
			return err
		}
		outcomes[a.ID] = won.Outcome
	}
	for _, id := range asked {
		if outcomes[id] == "" { // it has an answer, if it is kept still
			outcomes[id] = event.Cancelled
			if a, err := s.Approval(ctx, id); err == nil && !a.Pending() {
				outcomes[id] = a.Outcome
			}
		}
		if err := p.Publish(ctx, event.ToolApprovalResolved{ApprovalID: id, Outcome: outcomes[id]}); err != nil {
			return err
		}
	}
	return nil
}

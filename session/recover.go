package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentworker/worker/eventbus"
)

// Recover ends what a process that has gone left behind: sessions that it ran
// become interrupted, the deepest first, and streams get the session_end they
// lack. It may itself be cut off and called again. It must run only while no
// other process can have a session running: with the embedded store. It
// returns how many sessions it has ended.
func (s *Store) Recover(ctx context.Context, bus *eventbus.Bus) (int, error) {
	entries, err := s.entries(ctx, s.records)
	if err != nil {
		return 0, fmt.Errorf("listing sessions: %w", err)
	}
	type left struct {
		record *Record
		rev    uint64
	}
	var found []left
	for _, e := range entries {
		r, err := decodeRecord(e.Value())
		if err != nil {
			return 0, err
		}
		if !r.Closed {
			found = append(found, left{r, e.Revision()})
		}
	}
	slices.SortFunc(found, func(a, b left) int { return b.record.Depth - a.record.Depth })
	var errs []error
	for _, l := range found {
		if err := s.finish(ctx, bus, l.record, l.rev); err != nil {
			errs = append(errs, fmt.Errorf("ending session %s: %w", l.record.ID, err))
		}
	}
	return len(found), errors.Join(errs...)
}

// finish takes a session through what is left of its end, in the order of
// [Session.End].
func (s *Store) finish(ctx context.Context, bus *eventbus.Bus, r *Record, rev uint64) error {
	publisher, err := bus.Publisher(r.Path)
	if err != nil {
		return err
	}
	if !r.Status.Ended() {
		if err := r.transition(Interrupted, errors.New("its process ended while it ran"), time.Now().UTC()); err != nil {
			return err
		}
		if rev, err = s.update(ctx, r, rev); err != nil {
			return err
		}
		if err := publisher.Publish(ctx, eventbus.StatusChange{Status: eventbus.StatusAborted}); err != nil {
			return err
		}
	}
	if err := s.cancelApprovals(ctx, publisher, r.ID); err != nil {
		return err
	}
	err = publisher.End(ctx, eventbus.SessionEnd{Status: string(r.Status)})
	if err != nil && !errors.Is(err, eventbus.ErrEnded) {
		return err
	}
	r.Closed = true
	_, err = s.update(ctx, r, rev)
	return err
}

// cancelApprovals ends the questions that a session has left open.
func (s *Store) cancelApprovals(ctx context.Context, publisher *eventbus.Publisher, sessionID string) error {
	pending, err := s.Approvals(ctx)
	if err != nil {
		return err
	}
	for _, a := range pending {
		if a.SessionID != sessionID {
			continue
		}
		won, err := s.resolve(ctx, a.ID, eventbus.Cancelled, Answer{})
		if err != nil {
			return err
		}
		if err := publisher.Publish(ctx, eventbus.ToolApprovalResolved{ApprovalID: a.ID, Outcome: won.Outcome}); err != nil {
			return err
		}
	}
	return nil
}

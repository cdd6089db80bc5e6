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
	entries, err := s.entries(ctx)
	if err != nil {
		return 0, err
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
	err = publisher.End(ctx, eventbus.SessionEnd{Status: string(r.Status)})
	if err != nil && !errors.Is(err, eventbus.ErrEnded) {
		return err
	}
	r.Closed = true
	_, err = s.update(ctx, r, rev)
	return err
}

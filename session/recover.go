package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentworker/worker/eventbus"
)

// Recover marks as interrupted what a process that has gone left running, the
// deepest sessions first, and ends their streams. It must run only while no
// other process can have a session running: with the embedded store.
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
		if !r.Status.Ended() {
			found = append(found, left{r, e.Revision()})
		}
	}
	slices.SortFunc(found, func(a, b left) int { return b.record.Depth - a.record.Depth })
	var errs []error
	for _, l := range found {
		errs = append(errs, s.interrupt(ctx, bus, l.record, l.rev))
	}
	return len(found), errors.Join(errs...)
}

func (s *Store) interrupt(ctx context.Context, bus *eventbus.Bus, r *Record, rev uint64) error {
	if _, err := r.transition(Interrupted, errors.New("its process ended while it ran"), time.Now().UTC()); err != nil {
		return err
	}
	publisher, err := bus.Publisher(r.Path)
	if err != nil {
		return fmt.Errorf("session %s: %w", r.ID, err)
	}
	for _, ev := range []eventbus.Event{
		eventbus.StatusChange{Status: eventbus.StatusAborted},
		eventbus.SessionEnd{Status: string(Interrupted)},
	} {
		if err := publisher.Publish(ctx, ev); err != nil {
			return err
		}
	}
	if err := publisher.Flush(ctx); err != nil {
		return err
	}
	_, err = s.update(ctx, r, rev)
	return err
}

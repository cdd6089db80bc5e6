package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// Recover ends what processes that have gone left behind: sessions that they
// ran become interrupted, the deepest first, and streams get the session_end
// they lack. A process has gone when its lease has, or when it is one of this
// machine that is not there any more.
//
// It may run at any time, in several processes at once, and be cut off and
// called again. It returns how many sessions it has ended.
func (s *Store) Recover(ctx context.Context) (int, error) {
	return s.recover(ctx, "")
}

// recover is [Store.Recover] by the process of a boot id, which has a lease;
// empty: one without.
func (s *Store) recover(ctx context.Context, bootID string) (ended int, err error) {
	found, err := s.orphans(ctx, bootID)
	if err != nil {
		return 0, err
	}
	return s.adopt(ctx, bootID, found)
}

// recoverBelow is [Store.Recover] for one session and all below it.
func (s *Store) recoverBelow(ctx context.Context, id string) error {
	found, err := s.orphans(ctx, "")
	if err != nil {
		return err
	}
	_, err = s.adopt(ctx, "", slices.DeleteFunc(found, func(o orphan) bool { return !o.below(id) }))
	return err
}

// adopt ends the sessions of processes that have gone; see recover.
func (s *Store) adopt(ctx context.Context, bootID string, found []orphan) (ended int, err error) {
	if len(found) == 0 {
		return 0, nil
	}
	if bootID == "" { // others see by its lease that this process is at it
		l := s.newLease(newID("boot"))
		if _, err := s.takeLease(ctx, l); err != nil {
			return 0, err
		}
		bootID = l.BootID
		defer func() { err = errors.Join(err, s.leases.Delete(context.WithoutCancel(ctx), s.key(bootID))) }()
	}
	var errs []error
	for _, o := range found {
		err := s.finish(ctx, o, bootID)
		switch {
		case errors.Is(err, errConflict): // another process is at it
		case err != nil:
			errs = append(errs, fmt.Errorf("ending session %s: %w", o.ID, err))
		default:
			ended++
		}
	}
	return ended, errors.Join(errs...)
}

// orphan is a record of a session that has lost its process before its end was
// complete.
type orphan struct {
	*Record
	rev uint64
}

// orphans returns the sessions that the process of bootID is to end, the
// deepest first.
func (s *Store) orphans(ctx context.Context, bootID string) ([]orphan, error) {
	entries, err := s.entries(ctx, s.records)
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	alive := map[string]bool{bootID: true} // its own it ends itself
	var found []orphan
	for _, e := range entries {
		r, err := decodeRecord(e.Value())
		if err != nil {
			return nil, err
		}
		if r.Closed {
			continue
		}
		boot := cmp.Or(r.EndedBy, r.BootID)
		there, known := alive[boot]
		if !known {
			if there, err = s.alive(ctx, boot); err != nil {
				return nil, err
			}
			alive[boot] = there
		}
		if !there {
			found = append(found, orphan{r, e.Revision()})
		}
	}
	slices.SortFunc(found, func(a, b orphan) int { return b.Depth - a.Depth })
	return found, nil
}

// finish takes a session through what is left of its end, in the order of
// [Session.End]. Of several processes one does, the others get errConflict.
func (s *Store) finish(ctx context.Context, o orphan, bootID string) error {
	publisher, err := s.bus.Publisher(o.Path)
	if err != nil {
		return err
	}
	interrupted := !o.Status.Ended()
	if interrupted {
		if err := o.transition(Interrupted, errors.New("its process ended while it ran"), time.Now().UTC()); err != nil {
			return err
		}
	}
	o.EndedBy = bootID
	rev, err := s.update(ctx, o.Record, o.rev)
	if err != nil {
		return err
	}
	if interrupted {
		if err := publisher.Publish(ctx, event.StatusChange{Status: event.StatusAborted}); err != nil {
			return err
		}
	}
	if err := s.cancelApprovals(ctx, publisher, o.ID); err != nil {
		return err
	}
	err = publisher.End(ctx, event.SessionEnd{Status: string(o.Status)})
	if err != nil && !errors.Is(err, eventbus.ErrEnded) {
		return err
	}
	o.Closed = true
	_, err = s.update(ctx, o.Record, rev)
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
		won, err := s.resolve(ctx, a.ID, event.Cancelled, Answer{})
		if err != nil {
			return err
		}
		if err := publisher.Publish(ctx, event.ToolApprovalResolved{ApprovalID: a.ID, Outcome: won.Outcome}); err != nil {
			return err
		}
	}
	return nil
}

// dropEnded stops the sessions of this process that another one has ended.
func (m *Manager) dropEnded(ctx context.Context) error {
	m.mu.Lock()
	live := slices.Collect(maps.Values(m.live))
	m.mu.Unlock()
	for _, s := range live {
		r, _, err := m.store.read(ctx, s.id)
		switch {
		case err != nil:
			return err
		case r.EndedBy != "":
			s.mu.Lock()
			_ = s.drop(r) // it is told to whoever runs the session
			s.mu.Unlock()
		}
	}
	return nil
}

// TakenError tells that a session was ended by another process, which took this
// one for gone. It is an [ErrEnded].
type TakenError struct {
	SessionID string
	Status    Status // what it was ended as
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("session %s is %s: another process has ended it, since this one gave no sign of life for %s or more (stopped, asleep, or cut off from the event store)",
		e.SessionID, e.Status, leaseTTL)
}

// Is reports whether target is [ErrEnded].
func (e *TakenError) Is(target error) bool { return target == ErrEnded }

// drop stops a session that another process has ended as r says: nothing more
// of it is published. The caller holds s.mu.
func (s *Session) drop(r *Record) error {
	err := &TakenError{s.id, r.Status}
	if !s.taken.Swap(true) {
		s.m.log.Warn("a session is stopped: another process has ended it", "session", s.id, "status", r.Status)
		s.record, s.broken = *r, err
		if s.clock != nil {
			s.clock.cancel(err)
		}
	}
	return err
}

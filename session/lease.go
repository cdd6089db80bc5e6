package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/store"
)

// startKeeper takes the lease of m's process and keeps it until m is closed, or the
// connection is.
func startKeeper(ctx context.Context, m *Manager) (k *lease.Keeper, err error) {
	err = m.bus.Opening(ctx, func(ctx context.Context) (err error) {
		k, err = lease.Start(ctx, m.store.Leases(), lease.Options{
			BootID: m.bootID, TakesOver: m.takesOver, Taken: m.dropTaken, Sweep: m.sweep, Upkeep: m.deleteOld, Logger: m.log,
		})
		return err
	})
	return k, err
}

// sweep ends the sessions of processes that have gone, and those of this one that are
// lost: another process has claimed them, and may not have ended them (nil), or their end
// was not stored in time, and what is on its way may still do it. It has those deleted
// that are kept no longer.
func (m *Manager) sweep(ctx context.Context, k *lease.Keeper) (done bool) {
	n, err := m.endLost(ctx, k, false)
	if ctx.Err() != nil {
		return false
	}
	if n > 0 {
		m.log.Warn("sessions were interrupted: their process has gone", "sessions", n)
	}
	if err != nil {
		m.log.Warn("looking for sessions to end", "err", err)
		return false
	}
	select {
	case m.swept <- struct{}{}:
	default:
	}
	return true
}

// deleteOld deletes what is kept no longer, behind each sweep, until ctx ends. The sweeps
// don't wait for it: it may take minutes where much has piled up.
func (m *Manager) deleteOld(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.swept:
		}
		_, err := m.store.Expire(ctx, m.retention, time.Now())
		if err == nil {
			_, err = m.store.CleanUp(ctx)
		}
		if err != nil && ctx.Err() == nil {
			m.log.Warn("looking for sessions to delete", "err", err)
		}
	}
}

// recover is [store.Store.RecoverAs], once at a time. leave leaves the sessions of others.
func (m *Manager) recover(ctx context.Context, k *lease.Keeper, leave bool, lost func(id string) *store.Record) (ended int, err error) {
	m.recovering.Lock()
	defer m.recovering.Unlock()
	if !leave {
		if leave, err = m.mayRecover(ctx); err != nil {
			return 0, err
		}
	}
	return m.store.RecoverAs(ctx, k, store.RecoverOptions{Lost: lost, Adopter: m.adopter, Leave: leave})
}

// dropTaken stops the sessions of this process that another one has ended; all: every
// one, since it is about to.
func (m *Manager) dropTaken(ctx context.Context, all bool) error {
	m.mu.Lock()
	live := slices.Collect(maps.Values(m.live))
	m.mu.Unlock()
	for _, s := range live {
		if all {
			s.loseTo(store.Interrupted)
			continue
		}
		r, err := m.store.Taken(ctx, s.id, m.bootID)
		if err != nil {
			return err
		}
		if r != nil {
			_ = s.lose(r) // it is told to whoever runs the session
		}
	}
	return nil
}

// TakenError tells that another process has ended the session, or goes on with it,
// because it took this process for gone. It is a [store.ErrEnded].
type TakenError struct {
	SessionID string
	Status    store.Status // what it was ended as; one of no end: the other goes on with it
}

func (e *TakenError) Error() string {
	what := "is " + string(e.Status) + ": another process has ended it"
	switch {
	case e.Status == store.Cancelled:
		return fmt.Sprintf("session %s was stopped, and ended in place of this process, which did not end it in time", e.SessionID)
	case !e.Status.Ended():
		what = "is another process's now, which goes on with it"
	}
	return fmt.Sprintf("session %s %s, since this one gave no sign of life for %s or more (stopped, asleep, or cut off from the event store)", e.SessionID, what, lease.Time)
}

// Is reports whether target is [store.ErrEnded].
func (e *TakenError) Is(target error) bool { return target == store.ErrEnded }

// lose stops a session that another process has ended as r says: nothing more of
// it is published.
func (s *Session) lose(r *store.Record) error {
	err := &TakenError{s.id, r.Status}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.record.Closed || s.taken.Swap(true) {
		return err
	}
	s.m.log.Warn("a session is stopped: another process has ended it", "session", s.id, "status", r.Status)
	s.record, s.broken = *r, err
	s.m.lose(lostSession{session: s, taken: true})
	if s.clock != nil {
		s.clock.Cancel(err)
	}
	s.life.End(err)
	return err
}

// loseTo is lose where the record that another process stores is not known: it ends
// the session as status.
func (s *Session) loseTo(status store.Status) {
	r := s.Record()
	r.Status = status
	_ = s.lose(&r) // it is told to whoever runs the session
}

// indexed is a session as the owner of its record in the index.
type indexed struct{ s *Session }

// Taken implements [store.IndexOwner].
func (i indexed) Taken(r *store.Record) { _ = i.s.lose(r) }

// Unstored implements [store.IndexOwner].
func (i indexed) Unstored(err error) { i.s.note(err) }

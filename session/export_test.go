package session

import (
	"context"
	"time"

	"github.com/agentworker/worker/session/store"
)

// Clock is the clock of a session's time, for its test.
type Clock struct{ c *clock }

// StartClock starts one.
func StartClock(ctx context.Context, limit time.Duration) (context.Context, Clock) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, Clock{newClock(cancel, limit)}
}

func (c Clock) Pause()  { c.c.pause() }
func (c Clock) Resume() { c.c.resume() }
func (c Clock) Stop()   { c.c.stop() }

// LeaseRound renews the manager's lease now.
func LeaseRound(ctx context.Context, m *Manager) { m.keeper.renew(ctx) }

// RecoverAs ends what processes that have gone left, as the manager's process
// does now and then.
func RecoverAs(ctx context.Context, m *Manager) (int, error) {
	return m.store.RecoverAs(ctx, m.bootID)
}

// BootID is the boot id of the manager's process.
func BootID(m *Manager) string { return m.bootID }

// PutLease stores a lease of a process of this machine.
func PutLease(ctx context.Context, s *store.Store, bootID string, pid int) error {
	l := s.NewLease(bootID)
	l.PID = pid
	_, err := s.TakeLease(ctx, l)
	return err
}

// Sleep makes it look to m as if its process had not run for so long.
func Sleep(m *Manager, d time.Duration) {
	past := time.Now().Add(-d)
	m.keeper.sign.Store(&past)
}

// LeaseRenewal is how often a lease is renewed.
const LeaseRenewal = leaseRenewal

// NextSweep is when m looks for sessions whose process has gone, and whether it
// does not before, whatever it sees.
func NextSweep(m *Manager) (at time.Time, patient bool) {
	m.keeper.sweepMu.Lock()
	defer m.keeper.sweepMu.Unlock()
	return m.keeper.sweepAt, m.keeper.patient
}

// SweepNow has the next round do it.
func SweepNow(m *Manager) { m.keeper.sweepLater(-store.LeaseTTL, false) }

// BoundAudit has a file of the audit log take no more than max bytes.
func BoundAudit(l *AuditLog, max int64) { l.max = max }

// GiveBackLease has m go on without a lease.
func GiveBackLease(ctx context.Context, m *Manager) error { return m.keeper.close(ctx) }

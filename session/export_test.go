package session

import (
	"context"
	"time"
)

// Clock is the clock of a session's time, for its test.
type Clock struct{ c *clock }

// StartClock starts one.
func StartClock(ctx context.Context, limit time.Duration) (context.Context, Clock) {
	ctx, c := startClock(ctx, limit)
	return ctx, Clock{c}
}

func (c Clock) Pause()  { c.c.pause() }
func (c Clock) Resume() { c.c.resume() }
func (c Clock) Stop()   { c.c.stop() }

// LeaseRound renews the manager's lease now.
func LeaseRound(ctx context.Context, m *Manager) { m.keeper.renew(ctx) }

// RecoverAs ends what processes that have gone left, as the manager's process
// does now and then.
func RecoverAs(ctx context.Context, m *Manager) (int, error) {
	return m.store.recover(ctx, m.bus, m.bootID)
}

// BootID is the boot id of the manager's process.
func BootID(m *Manager) string { return m.bootID }

// PutLease stores a lease of a process of this machine.
func PutLease(ctx context.Context, s *Store, bootID string, pid int) error {
	l := s.newLease(bootID)
	l.PID = pid
	_, err := s.takeLease(ctx, l)
	return err
}

// Sleep makes it look to m as if its process had not run for a while.
func Sleep(m *Manager) {
	past := time.Now().Add(-2 * leaseTTL)
	m.keeper.sign.Store(&past)
}

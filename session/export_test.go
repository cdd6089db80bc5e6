package session

import (
	"context"
)

// LeaseRound renews the manager's lease now.
func LeaseRound(ctx context.Context, m *Manager) { m.p.Keeper.Renew(ctx) }

// RecoverAs ends what processes that have gone left, as the manager's process
// does now and then.
func RecoverAs(ctx context.Context, m *Manager) (int, error) {
	return m.p.recovery.recover(ctx, m.p.Keeper, false, nil)
}

// BootID is the boot id of the manager's process.
func BootID(m *Manager) string { return m.p.BootID }

// Sleep has m's process renew its lease no more: only [LeaseRound] does.
func Sleep(m *Manager) { m.p.Keeper.Stop() }

// EndLease has m go on with a lease of a process that has ended.
func EndLease(ctx context.Context, m *Manager) error { return m.p.Keeper.Close(ctx, true) }

// Sweep ends what has lost its process, as the manager does once a minute, and
// reports whether it has looked at all of it.
func Sweep(ctx context.Context, m *Manager) bool { return m.p.recovery.sweep(ctx, m.p.Keeper) }

// DefaultLimits are the limits of a manager whose options name none.
func DefaultLimits() Limits { return Limits{}.withDefaults() }

// HoldTime stops the clocks of the session and of those above it.
func HoldTime(s *Session) (resume func()) { return s.life.Hold() }

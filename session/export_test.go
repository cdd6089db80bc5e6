package session

import (
	"context"
)

// LeaseRound renews the manager's lease now.
func LeaseRound(ctx context.Context, m *Manager) { m.keeper.Renew(ctx) }

// RecoverAs ends what processes that have gone left, as the manager's process
// does now and then.
func RecoverAs(ctx context.Context, m *Manager) (int, error) {
	return m.recover(ctx, m.keeper, false, nil)
}

// BootID is the boot id of the manager's process.
func BootID(m *Manager) string { return m.bootID }

// Sleep has m's process renew its lease no more: only [LeaseRound] does.
func Sleep(m *Manager) { m.keeper.Stop() }

// EndLease has m go on with a lease of a process that has ended.
func EndLease(ctx context.Context, m *Manager) error { return m.keeper.Close(ctx, true) }

// Sweep ends what has lost its process, as the manager does once a minute, and
// reports whether it has looked at all of it.
func Sweep(ctx context.Context, m *Manager) bool { return m.sweep(ctx, m.keeper) }

// DefaultLimits are the limits of a manager whose options name none.
func DefaultLimits() Limits { return Limits{}.withDefaults() }

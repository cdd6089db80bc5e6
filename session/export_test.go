package session

import (
	"context"
	"time"
)

// Clock is the clock of a session's time, for its test.
type Clock struct{ c *clock }

// StartClock starts one.
func StartClock(ctx context.Context, limit time.Duration) (context.Context, Clock) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, Clock{newClock(cancel, limit, 0)}
}

func (c Clock) Pause()  { c.c.pause() }
func (c Clock) Resume() { c.c.resume() }
func (c Clock) Stop()   { c.c.stop() }

// LeaseRound renews the manager's lease now.
func LeaseRound(ctx context.Context, m *Manager) { m.keeper.Renew(ctx) }

// RecoverAs ends what processes that have gone left, as the manager's process
// does now and then.
func RecoverAs(ctx context.Context, m *Manager) (int, error) {
	return m.recover(ctx, m.keeper, nil)
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

// StallWatch is the watch over a session's events, for its test.
type StallWatch struct{ w *stallWatch }

// StartStallWatch starts one; tell is called when nothing has happened for limit.
func StartStallWatch(ctx context.Context, limit time.Duration, tell func()) (context.Context, StallWatch) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, StallWatch{newStallWatch(limit, cancel, func(idle time.Duration) { tell() }, func() {})}
}

func (w StallWatch) Heard()  { w.w.heard() }
func (w StallWatch) Pause()  { w.w.pause() }
func (w StallWatch) Resume() { w.w.resume() }
func (w StallWatch) Stop()   { w.w.stop() }

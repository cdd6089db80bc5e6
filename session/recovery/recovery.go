package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/record"
)

// Recover cleans up after processes that are known to be gone: sessions that they
// ran become interrupted, the deepest first, and streams get the session_end they
// lack. It does not wait for processes of which only time can tell (see
// [lease.Time]): [Store.RecoverAs] by a process that stays ends their sessions.
//
// Where a process runs that takes sessions over, they are left to that.
//
// It may run at any time, in several processes at once, and may be cut off and
// called again. It returns how many sessions it has ended.
func (rec *Recovery) Recover(ctx context.Context) (ended int, err error) {
	open, err := rec.index.Unended(ctx)
	if err != nil || len(open) == 0 {
		return 0, err
	}
	if left, err := rec.leases.TakenOver(ctx); left || err != nil {
		return 0, err
	}
	by, err := lease.Start(ctx, rec.leases, lease.Options{BootID: record.NewID("boot")})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, by.Close(context.WithoutCancel(ctx), false)) }()
	return rec.recover(ctx, by, rec.index.Unended, Options{}, true)
}

// RecoverOptions say what a process does with the sessions that others have left.
type Options struct {
	// Lost returns the record of a session of its own that is to be ended: what the process
	// knows of its end, or one that has not ended, where another process has claimed it and
	// may not have ended it. It returns nil for all others, which the process runs. A nil Lost
	// means there are none.
	Lost func(id string) *record.Record

	Adopter Adopter // goes on with what can be gone on with; nil means all are ended
	Leave   bool    // leaves the sessions of others to a process that goes on with some
}

// RecoverAs is [Store.Recover] by a process that renews its lease: it ends the sessions
// of all processes that it has seen to be gone, or goes on with them.
func (rec *Recovery) RecoverAs(ctx context.Context, by *lease.Keeper, opts Options) (ended int, err error) {
	return rec.recover(ctx, by, rec.index.Unended, opts, true)
}

// adopt ends the open sessions whose processes have gone, the deepest first. A session
// ends after all sessions below it. It stays open while one of them does: because its
// process lives, because another process recovers it, or because it could not be ended.
// list returns the open sessions; with all, every one of them.
func (rec *Recovery) recover(ctx context.Context, by *lease.Keeper, list func(context.Context) ([]index.Stored, error), opts Options, all bool) (ended int, err error) {
	defer func() { err = errors.Join(err, by.Release(context.WithoutCancel(ctx), all && err == nil)) }()
	gone := make(map[string]bool) // the processes that were asked for
	// A process may begin sessions until it has gone, and what it has sent before may come
	// later: what it has left is listed behind the claim, and behind the fences.
	fenced := make(map[string]bool)
	var open []index.Stored
	for again := true; again; {
		if open, err = list(ctx); err != nil {
			return 0, err
		}
		for _, o := range open {
			boot := process(o)
			if _, known := gone[boot]; known || opts.Leave || boot == by.BootID() {
				continue
			}
			if gone[boot], err = by.Claim(ctx, boot); err != nil {
				return 0, err
			}
		}
		if again, err = rec.fence(ctx, open, by.BootID(), func(o index.Stored) bool { return gone[process(o)] }, fenced); err != nil {
			return 0, err
		}
	}
	slices.SortStableFunc(open, func(a, b index.Stored) int { return b.Depth - a.Depth })
	lost := make(map[string]bool)
	for i, o := range open {
		if process(o) != by.BootID() || opts.Lost == nil {
			continue
		}
		if r := opts.Lost(o.ID); r != nil {
			lost[o.ID], open[i] = true, endedAs(o, r)
		}
	}
	ours := func(o index.Stored) bool {
		if process(o) == by.BootID() { // what it has begun to end, or lost; the others it ends itself
			_, stuck := rec.stuck.Load(o.ID)
			return o.EndedBy != "" || stuck || lost[o.ID]
		}
		return gone[process(o)]
	}
	var pending []*approval.Approval
	if slices.ContainsFunc(open, ours) {
		if pending, err = rec.approvals.Pending(ctx); err != nil {
			return 0, err
		}
	}
	var chosen []index.Stored
	var why map[string]error
	if opts.Adopter != nil {
		if chosen, why, err = rec.choose(ctx, opts.Adopter, open, func(o index.Stored) bool { return gone[process(o)] }); err != nil {
			return 0, err
		}
	}
	ended, left, err := rec.endAll(ctx, by.BootID(), open, chosen, ours, why, pending)
	all = all && !left && !opts.Leave
	if len(chosen) == 0 {
		return ended, err
	}
	taken, failed := rec.claimAll(ctx, opts.Adopter, by.BootID(), chosen, pending)
	if len(taken) > 0 {
		opts.Adopter.Adopt(ctx, taken)
	}
	return ended, errors.Join(err, failed)
}

// fence stores a fence in those of the open sessions that are ours. Nothing is stored any more
// of what others publish in them, and nothing begins below them, so that they end behind all
// below them. It reports whether one was not fenced before: then something may have begun that
// was not listed.
func (rec *Recovery) fence(ctx context.Context, open []index.Stored, bootID string, ours func(index.Stored) bool, fenced map[string]bool) (again bool, err error) {
	for _, o := range open {
		if !ours(o) || fenced[o.ID] {
			continue
		}
		// One that has ended, or that another process has taken over, is not ended here.
		if err := rec.bus.Fence(ctx, o.Path, o.BootID, bootID); err != nil && !errors.Is(err, eventbus.ErrEnded) {
			return false, err
		}
		fenced[o.ID], again = true, true
	}
	return again, nil
}

// endAll ends those of the open sessions that are ours, the deepest first, but for those
// that are gone on with. left: some stay open.
func (rec *Recovery) endAll(ctx context.Context, bootID string, open, chosen []index.Stored, ours func(index.Stored) bool, why map[string]error, pending []*approval.Approval) (ended int, left bool, err error) {
	goesOn := make(map[string]bool)
	for _, o := range chosen {
		goesOn[o.ID] = true
	}
	var errs []error
	held := make(map[string]bool) // sessions with one below them that stays open
	for _, o := range open {
		if goesOn[o.ID] {
			continue
		}
		if ours(o) && !held[o.ID] {
			err := rec.end(ctx, o, bootID, pending, interrupted(why[o.ID]))
			if err == nil {
				rec.stuck.Delete(o.ID)
				ended++
				continue
			}
			if !errors.Is(err, index.ErrConflict) { // then another process is at it
				errs = append(errs, fmt.Errorf("ending session %s: %w", o.ID, err))
			}
		}
		left = left || ours(o)
		for _, id := range o.Path.IDs() {
			held[id] = true
		}
	}
	return ended, left, errors.Join(errs...)
}

// endedAs is the Stored with the end that its own process knows of, and that may not be
// stored.
func endedAs(o index.Stored, r *record.Record) index.Stored {
	if !r.Status.Ended() || o.Status.Ended() {
		return o
	}
	ended := *o.Record
	ended.Status, ended.Error, ended.EndedAt = r.Status, r.Error, r.EndedAt
	return index.Stored{Record: &ended, Rev: o.Rev}
}

// process returns the boot id of the process that is to end the session.
func process(o index.Stored) string { return cmp.Or(o.EndedBy, o.BootID) }

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

// Recover cleans up after processes that are known to have exited. Their sessions become
// interrupted, the deepest first, and each stream gets the session_end that it lacks.
// Recover does not wait for a process whose lease must first expire (see [lease.Lease.Duration]). A
// process that stays ends those sessions with [Recovery.RecoverAs].
//
// If a process runs that claims sessions, Recover leaves all of them to it.
//
// It may run at any time, in several processes at once, and may be interrupted and called
// again. It returns how many sessions it has ended.
func (rec *Recovery) Recover(ctx context.Context) (ended int, err error) {
	open, err := rec.index.Unended(ctx)
	if err != nil || len(open) == 0 {
		return 0, err
	}
	if left, err := rec.leases.HasResumer(ctx); left || err != nil {
		return 0, err
	}
	by, err := lease.Start(ctx, rec.leases, lease.Options{BootID: record.NewID("boot")})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, by.Close(context.WithoutCancel(ctx), false)) }()
	return rec.recover(ctx, by, rec.index.Unended, Options{}, true)
}

// Options say what a process does with the sessions that others have left.
type Options struct {
	// Lost returns the record of a session of this process that must be ended; for all
	// others it returns nil, and the process runs them. The record tells what the process
	// knows of the end. It has not ended if another process has claimed the session and may
	// not have ended it. A nil Lost means there are no such sessions.
	Lost func(id string) *record.Record

	Adopter Adopter // resumes the sessions that can be resumed; nil means all are ended
	Leave   bool    // leaves the sessions of others to a process that resumes some
}

// RecoverAs is [Recovery.Recover] for a process that renews its lease. It ends or resumes
// the sessions of all processes that it has seen exit.
func (rec *Recovery) RecoverAs(ctx context.Context, by *lease.Keeper, opts Options) (ended int, err error) {
	return rec.recover(ctx, by, rec.index.Unended, opts, true)
}

// recover ends or resumes the open sessions whose processes have exited, the deepest first.
// A session ends after all sessions below it. It stays open while one of them does. That
// one's process may live, another process may recover it, or it could not be ended. list
// returns the open sessions. all says that it lists every one of them.
func (rec *Recovery) recover(ctx context.Context, by *lease.Keeper, list func(context.Context) ([]index.Stored, error), opts Options, all bool) (ended int, err error) {
	defer func() { err = errors.Join(err, by.Release(context.WithoutCancel(ctx), all && err == nil)) }()
	gone := make(map[string]bool)       // the processes that we tried to claim; true: claimed
	handedOver := make(map[string]bool) // those that have ended in order
	// A process may begin sessions until it exits, and what it has sent may arrive later.
	// So the sessions that it has left are listed after the claim, and again after the
	// fences.
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
			var waits bool
			if handedOver[boot], waits, err = by.HandedOver(ctx, boot); err == nil && !waits {
				gone[boot], err = by.Claim(ctx, boot)
			}
			if err != nil {
				return 0, err
			}
			gone[boot] = gone[boot] && !waits
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
		if process(o) == by.BootID() { // ours are the sessions whose end has begun, or that are lost; it ends the others itself
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
		if chosen, why, err = rec.choose(ctx, opts.Adopter, open, func(o index.Stored) bool { return gone[process(o)] }, handedOver); err != nil {
			return 0, err
		}
	}
	ended, left, err := rec.endAll(ctx, by.BootID(), open, chosen, ours, why, pending)
	all = all && !left && !opts.Leave
	if len(chosen) == 0 {
		return ended, err
	}
	taken, failed := rec.claimAll(ctx, opts.Adopter, by.BootID(), chosen, pending, handedOver)
	if len(taken) > 0 {
		opts.Adopter.Adopt(ctx, taken)
	}
	return ended, errors.Join(err, failed)
}

// fence stores a fence in each open session that is ours. After that, the store refuses
// what other processes publish in the session, and nothing begins below it. So it ends
// after everything below it. again reports that a session was not fenced before: something
// may have begun that was not listed.
func (rec *Recovery) fence(ctx context.Context, open []index.Stored, bootID string, ours func(index.Stored) bool, fenced map[string]bool) (again bool, err error) {
	for _, o := range open {
		if !ours(o) || fenced[o.ID] {
			continue
		}
		// A session that has ended, or that another process has claimed, is not ended here.
		if err := rec.bus.Fence(ctx, o.Path, o.BootID, bootID); err != nil && !errors.Is(err, eventbus.ErrEnded) {
			return false, err
		}
		fenced[o.ID], again = true, true
	}
	return again, nil
}

// endAll ends the open sessions that are ours, the deepest first, except the chosen ones:
// they are resumed. left reports that some stay open.
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
			end, err := rec.endOf(ctx, o, why[o.ID])
			if err == nil {
				err = rec.end(ctx, o, bootID, pending, end)
			}
			if err == nil {
				rec.stuck.Delete(o.ID)
				ended++
				continue
			}
			if !errors.Is(err, index.ErrConflict) { // otherwise another process is ending it
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

// endedAs returns the stored record with the end that its own process knows of. That end
// may not be stored yet.
func endedAs(o index.Stored, r *record.Record) index.Stored {
	if !r.Status.Ended() || o.Status.Ended() {
		return o
	}
	ended := *o.Record
	ended.Status, ended.Error, ended.EndedAt = r.Status, r.Error, r.EndedAt
	return index.Stored{Record: &ended, Rev: o.Rev}
}

// process returns the boot id of the process that must end the session.
func process(o index.Stored) string { return cmp.Or(o.EndedBy, o.BootID) }

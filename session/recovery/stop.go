package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/requests"
)

// StopGrace is how long [Recovery.Stop] waits for a session's own process to end it. Of the
// 5 s that a stop may take, it leaves the rest to whichever process then ends it instead.
const StopGrace = 4 * time.Second

// stopRetry is the pause between two requests to a process that does not listen, or does
// not know the session yet.
const stopRetry = 100 * time.Millisecond

// ErrNotStopped is returned for a session whose end could not be stored in time. The
// request stays valid: the session may still end.
var ErrNotStopped = errors.New("it has not ended in time")

// Stop ends a session and all below it, whichever processes run them. It returns the record
// once all of their events are stored. The status is cancelled, or however else the session
// has ended meanwhile. who tells people who stops it.
//
// If the session's process has exited, or has not ended it within [StopGrace], Stop ends it
// itself, with all below it except detached sessions. Nothing is stored after these ends.
// If the process is still there, it stops the sessions when it learns of that.
//
// It returns the errors of [index.Index.Get], and a [*record.EndedError] for a session that
// had ended before. The error is [ErrNotStopped] if the end was not stored within
// [index.WriteTimeout] after the grace, or before ctx ended.
func (rec *Recovery) Stop(ctx context.Context, id, who string) (_ *record.Record, err error) {
	r, err := rec.index.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.Status.Ended() {
		return r, &record.EndedError{Record: r}
	}
	grace := cmp.Or(rec.StopGrace, StopGrace)
	ctx, cancel := context.WithTimeout(ctx, grace+index.WriteTimeout)
	defer cancel()
	asking, enough := context.WithTimeout(ctx, grace)
	defer enough()
	by, err := lease.Start(ctx, rec.leases, lease.Options{BootID: record.NewID("boot")}) // so that others know who ends it
	if err != nil {
		return nil, fmt.Errorf("stopping session %s: %w", r.ID, err)
	}
	defer func() { err = errors.Join(err, by.Close(context.WithoutCancel(ctx), false)) }()
	for {
		gone, err := by.Claimable(ctx, r.BootID)
		switch {
		case err != nil:
		case gone:
			err = rec.forceStop(ctx, by, r, fmt.Errorf("stopped by %s; its process has exited", who))
		case asking.Err() != nil:
			err = rec.forceStop(ctx, by, r, fmt.Errorf("stopped by %s; its process did not end it in time", who))
		default:
			err = rec.requests.Stop(asking, r.BootID, requests.StopRequest{SessionID: r.ID, By: who})
		}
		var current *record.Record
		if err == nil {
			current, err = rec.index.Get(ctx, r.ID)
		}
		switch {
		case ctx.Err() != nil:
			return r, fmt.Errorf("stopping session %s: %w", r.ID, ErrNotStopped)
		case err != nil:
			return r, fmt.Errorf("stopping session %s: %w", r.ID, err)
		case current.Closed:
			return current, nil
		}
		r = current // another process may have resumed it
		select {    // it has only just been opened, or is not closed by whoever ends it
		case <-ctx.Done():
		case <-time.After(stopRetry):
		}
	}
}

// forceStop ends a session and all below it, the deepest first, without their process.
// Detached sessions go on. It repeats that for what has begun meanwhile. If another process
// works on one of them, it returns, and the next call sees what that process has done.
func (rec *Recovery) forceStop(ctx context.Context, by *lease.Keeper, top *record.Record, why error) error {
	fenced := make(map[string]bool)
	for {
		open, err := rec.openBelow(ctx, top)
		if err != nil || len(open) == 0 {
			return err
		}
		again, err := rec.fence(ctx, open, by.BootID(), func(index.Stored) bool { return true }, fenced)
		if err != nil {
			return err
		}
		if again {
			continue
		}
		pending, err := rec.approvals.Pending(ctx)
		if err != nil {
			return err
		}
		for _, o := range open {
			err := rec.end(ctx, o, by.BootID(), pending, ending{record.Cancelled, why})
			if errors.Is(err, index.ErrConflict) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
}

// openBelow returns the open ones of a session and those below it, the deepest first,
// without detached sessions.
func (rec *Recovery) openBelow(ctx context.Context, top *record.Record) ([]index.Stored, error) {
	open, err := rec.index.Unended(ctx)
	apart := make(map[string]bool)
	for _, o := range open {
		apart[o.ID] = o.Detached && o.ID != top.ID
	}
	open = slices.DeleteFunc(open, func(o index.Stored) bool {
		ids := o.Path.IDs()
		return len(ids) <= top.Depth || ids[top.Depth] != top.ID || slices.ContainsFunc(ids[top.Depth:], func(id string) bool { return apart[id] })
	})
	slices.SortStableFunc(open, func(a, b index.Stored) int { return b.Depth - a.Depth })
	return open, err
}

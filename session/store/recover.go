package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session/lease"
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
func (s *Store) Recover(ctx context.Context) (ended int, err error) {
	open, err := s.open(ctx)
	if err != nil || len(open) == 0 {
		return 0, err
	}
	if left, err := s.leases.TakenOver(ctx); left || err != nil {
		return 0, err
	}
	by, err := lease.Start(ctx, s.leases, lease.Options{BootID: NewID("boot")})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, by.Close(context.WithoutCancel(ctx), false)) }()
	return s.adopt(ctx, by, s.open, RecoverOptions{}, true)
}

// RecoverOptions say what a process does with the sessions that others have left.
type RecoverOptions struct {
	// Lost returns the record of a session of its own that is to be ended: what the process
	// knows of its end, or one that has not ended, where another process has claimed it and
	// may not have ended it. It returns nil for all others, which the process runs. A nil Lost
	// means there are none.
	Lost func(id string) *Record

	Adopter Adopter // goes on with what can be gone on with; nil means all are ended
	Leave   bool    // leaves the sessions of others to a process that goes on with some
}

// RecoverAs is [Store.Recover] by a process that renews its lease: it ends the sessions
// of all processes that it has seen to be gone, or goes on with them.
func (s *Store) RecoverAs(ctx context.Context, by *lease.Keeper, opts RecoverOptions) (ended int, err error) {
	return s.adopt(ctx, by, s.open, opts, true)
}

// adopt ends the open sessions whose processes have gone, the deepest first. A session
// ends after all sessions below it. It stays open while one of them does: because its
// process lives, because another process recovers it, or because it could not be ended.
// list returns the open sessions; with all, every one of them.
func (s *Store) adopt(ctx context.Context, by *lease.Keeper, list func(context.Context) ([]orphan, error), opts RecoverOptions, all bool) (ended int, err error) {
	defer func() { err = errors.Join(err, by.Release(context.WithoutCancel(ctx), all && err == nil)) }()
	gone := make(map[string]bool) // the processes that were asked for
	// A process may begin sessions until it has gone, and what it has sent before may come
	// later: what it has left is listed behind the claim, and behind the fences.
	fenced := make(map[string]bool)
	var open []orphan
	for again := true; again; {
		if open, err = list(ctx); err != nil {
			return 0, err
		}
		for _, o := range open {
			boot := o.process()
			if _, known := gone[boot]; known || opts.Leave || boot == by.BootID() {
				continue
			}
			if gone[boot], err = by.Claim(ctx, boot); err != nil {
				return 0, err
			}
		}
		if again, err = s.fence(ctx, open, by.BootID(), func(o orphan) bool { return gone[o.process()] }, fenced); err != nil {
			return 0, err
		}
	}
	slices.SortStableFunc(open, func(a, b orphan) int { return b.Depth - a.Depth })
	lost := make(map[string]bool)
	for i, o := range open {
		if o.process() != by.BootID() || opts.Lost == nil {
			continue
		}
		if r := opts.Lost(o.ID); r != nil {
			lost[o.ID], open[i] = true, o.endedAs(r)
		}
	}
	ours := func(o orphan) bool {
		if o.process() == by.BootID() { // what it has begun to end, or lost; the others it ends itself
			_, stuck := s.stuck.Load(o.ID)
			return o.EndedBy != "" || stuck || lost[o.ID]
		}
		return gone[o.process()]
	}
	var pending []*Approval
	if slices.ContainsFunc(open, ours) {
		if pending, err = s.Approvals(ctx); err != nil {
			return 0, err
		}
	}
	var chosen []orphan
	var why map[string]error
	if opts.Adopter != nil {
		if chosen, why, err = s.choose(ctx, opts.Adopter, open, func(o orphan) bool { return gone[o.process()] }); err != nil {
			return 0, err
		}
	}
	ended, left, err := s.endAll(ctx, by.BootID(), open, chosen, ours, why, pending)
	all = all && !left && !opts.Leave
	if len(chosen) == 0 {
		return ended, err
	}
	taken, failed := s.takeOver(ctx, opts.Adopter, by.BootID(), chosen, pending)
	if len(taken) > 0 {
		opts.Adopter.Adopt(ctx, taken)
	}
	return ended, errors.Join(err, failed)
}

// fence stores a fence in those of the open sessions that are ours. Nothing is stored any more
// of what others publish in them, and nothing begins below them, so that they end behind all
// below them. It reports whether one was not fenced before: then something may have begun that
// was not listed.
func (s *Store) fence(ctx context.Context, open []orphan, bootID string, ours func(orphan) bool, fenced map[string]bool) (again bool, err error) {
	for _, o := range open {
		if !ours(o) || fenced[o.ID] {
			continue
		}
		// One that has ended, or that another process has taken over, is not ended here.
		if err := s.bus.Fence(ctx, o.Path, o.BootID, bootID); err != nil && !errors.Is(err, eventbus.ErrEnded) {
			return false, err
		}
		fenced[o.ID], again = true, true
	}
	return again, nil
}

// endAll ends those of the open sessions that are ours, the deepest first, but for those
// that are gone on with. left: some stay open.
func (s *Store) endAll(ctx context.Context, bootID string, open, chosen []orphan, ours func(orphan) bool, why map[string]error, pending []*Approval) (ended int, left bool, err error) {
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
			err := s.claim(ctx, o, bootID, pending, interrupted(why[o.ID]))
			if err == nil {
				s.stuck.Delete(o.ID)
				ended++
				continue
			}
			if !errors.Is(err, errConflict) { // then another process is at it
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

// orphan is a session whose record was not closed.
type orphan struct {
	*Record
	rev uint64 // of the stored record; 0 means none is stored
}

// endedAs is the orphan with the end that its own process knows of, and that may not be
// stored.
func (o orphan) endedAs(r *Record) orphan {
	if !r.Status.Ended() || o.Status.Ended() {
		return o
	}
	ended := *o.Record
	ended.Status, ended.Error, ended.EndedAt = r.Status, r.Error, r.EndedAt
	return orphan{&ended, o.rev}
}

// process returns the boot id of the process that is to end the session.
func (o orphan) process() string { return cmp.Or(o.EndedBy, o.BootID) }

// decodeOpened returns the record of a session as the first entry of its log has it.
func decodeOpened(e eventbus.Entry) (*Record, error) {
	state, err := Fold(slices.Values([]eventbus.Entry{e}))
	if err == nil && len(state.Record.Path) == 0 {
		err = fmt.Errorf("entry %d (%s) of a log: it has no path", e.Seq, e.Kind)
	}
	if err != nil {
		return nil, err
	}
	return &state.Record, nil
}

// ending is how a session ends in place of its process.
type ending struct {
	status Status
	cause  error
}

// interrupted is the ending of a session whose process has gone. why is the reason why it
// is not gone on with; nil means nobody would.
func interrupted(why error) ending {
	cause := errors.New("its process ended while it ran")
	if why != nil {
		cause = fmt.Errorf("%w, and no other goes on with it: %w", cause, why)
	}
	return ending{Interrupted, cause}
}

// TellEnds has f told of each session that is ended in place of a process that has gone:
// at the latest before that is over. It is called before anything is recovered.
func (s *Store) TellEnds(f func(*Record)) { s.ended = f }

package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/session/lease"
)

// StopGrace is how long [Store.Stop] leaves it to the process of a session to end it. It
// leaves the rest of 5 s to who ends it in place of that process.
const StopGrace = 4 * time.Second

// stopRetry is the pause before a process that does not listen, or does not know the
// session yet, is asked again.
const stopRetry = 100 * time.Millisecond

// EndedError tells that the session to stop had ended before. It is an
// [ErrEnded].
type EndedError struct{ Record *Record }

func (e *EndedError) Error() string {
	r := e.Record
	return fmt.Sprintf("session %s does not run: it is %s since %s", r.ID, r.Status, r.EndedAt.Local().Format(time.DateTime))
}

// Is reports whether target is [ErrEnded].
func (e *EndedError) Is(target error) bool { return target == ErrEnded }

// ErrNotStopped is returned for a session whose end could not be stored in time. The request
// stands: it may still end.
var ErrNotStopped = errors.New("it has not ended in time")

// StopRequest asks the process of a session to stop it. The answer has no content: it
// means that the record says how the session has ended.
type StopRequest struct {
	SessionID string `json:"sessionId"`
	By        string `json:"by"`
}

// StopSubject is where the process of a boot id takes requests to stop sessions,
// as the JSON of a [StopRequest].
func (s *Store) StopSubject(bootID string) string {
	return "agents.v1." + s.workspace + ".workers." + bootID + ".stop"
}

// ForceStops has Stop leave it to the process of a session for so long to end it, in place
// of [StopGrace]. It is called before anything is stopped.
func (s *Store) ForceStops(after time.Duration) { s.stopGrace = after }

// Stop ends a session and all below it, in whatever process they run. It
// returns the record once all of their events are stored. The status is
// cancelled, or however else it has ended meanwhile. who tells people who stops it.
//
// Where the process of the session has gone, or has not ended it within [StopGrace], Stop
// ends it in place of that, with all below it but what is detached: nothing is stored
// behind these ends, and the process, should it still be there, stops them when it learns
// it.
//
// Its errors are those of Get, an [*EndedError] for a session that had ended
// before, and [ErrNotStopped] where the store has not taken its end within [WriteTimeout] after that,
// or before ctx has ended.
func (s *Store) Stop(ctx context.Context, id, who string) (_ *Record, err error) {
	r, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.Status.Ended() {
		return r, &EndedError{r}
	}
	data, err := json.Marshal(StopRequest{r.ID, who})
	if err != nil {
		return nil, fmt.Errorf("stopping session %s: %w", r.ID, err)
	}
	grace := cmp.Or(s.stopGrace, StopGrace)
	ctx, cancel := context.WithTimeout(ctx, grace+WriteTimeout)
	defer cancel()
	asking, enough := context.WithTimeout(ctx, grace)
	defer enough()
	by, err := lease.Start(ctx, s.leases, lease.Options{BootID: NewID("boot")}) // so that others know who ends it
	if err != nil {
		return nil, fmt.Errorf("stopping session %s: %w", r.ID, err)
	}
	defer func() { err = errors.Join(err, by.Close(context.WithoutCancel(ctx), false)) }()
	for {
		gone, err := by.Gone(ctx, r.BootID)
		switch {
		case err != nil:
		case gone:
			err = s.forceStop(ctx, by, r, fmt.Errorf("stopped by %s; its process has gone", who))
		case asking.Err() != nil:
			err = s.forceStop(ctx, by, r, fmt.Errorf("stopped by %s; its process did not end it in time", who))
		default:
			err = s.askToStop(asking, r.BootID, data)
		}
		var current *Record
		if err == nil {
			current, err = s.Get(ctx, r.ID)
		}
		switch {
		case ctx.Err() != nil:
			return r, fmt.Errorf("stopping session %s: %w", r.ID, ErrNotStopped)
		case err != nil:
			return r, fmt.Errorf("stopping session %s: %w", r.ID, err)
		case current.Closed:
			return current, nil
		}
		r = current // another process may go on with it
		select {    // it has only just been opened, or is not closed by whoever ends it
		case <-ctx.Done():
		case <-time.After(stopRetry):
		}
	}
}

// askToStop asks a process to stop a session, and returns when that has answered, or ctx
// has ended. One that takes no requests has none yet, or any more.
func (s *Store) askToStop(ctx context.Context, bootID string, request []byte) error {
	err := s.bus.Store().Request(ctx, s.StopSubject(bootID), request)
	if ctx.Err() != nil || errors.Is(err, nats.ErrNoResponders) {
		return nil
	}
	return err
}

// forceStop ends a session and all below it but what is detached, the deepest first, in
// place of their process, and then what that has begun meanwhile. What another process does
// with one of them is seen by the next call.
func (s *Store) forceStop(ctx context.Context, by *lease.Keeper, top *Record, why error) error {
	fenced := make(map[string]bool)
	for {
		open, err := s.openBelow(ctx, top)
		if err != nil || len(open) == 0 {
			return err
		}
		again, err := s.fence(ctx, open, by.BootID(), func(orphan) bool { return true }, fenced)
		if err != nil {
			return err
		}
		if again {
			continue
		}
		pending, err := s.Approvals(ctx)
		if err != nil {
			return err
		}
		for _, o := range open {
			err := s.claim(ctx, o, by.BootID(), pending, ending{Cancelled, why})
			if errors.Is(err, errConflict) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
}

// openBelow returns what has not ended of a session and those below it, the deepest first,
// but for what is detached.
func (s *Store) openBelow(ctx context.Context, top *Record) ([]orphan, error) {
	open, err := s.open(ctx)
	apart := make(map[string]bool)
	for _, o := range open {
		apart[o.ID] = o.Detached && o.ID != top.ID
	}
	open = slices.DeleteFunc(open, func(o orphan) bool {
		ids := o.Path.IDs()
		return len(ids) <= top.Depth || ids[top.Depth] != top.ID || slices.ContainsFunc(ids[top.Depth:], func(id string) bool { return apart[id] })
	})
	slices.SortStableFunc(open, func(a, b orphan) int { return b.Depth - a.Depth })
	return open, err
}

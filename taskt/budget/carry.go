package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/retention"
	"github.com/agentworker/worker/session/store"
)

// SharedError says that a session can't be resumed: another session uses a budget of it or of one
// above it now, and two processes can't count together.
type SharedError struct {
	SessionID string // which runs
	Owner     string // for which it was set
}

func (e *SharedError) Error() string {
	return fmt.Sprintf("session %s runs on the budget of session %s, which the next run would share: wait for it, or stop it", e.SessionID, e.Owner)
}

// Carry returns the budgets of a session that is resumed, and of the sessions above it, with the
// usage of their trees. The usage is read from the logs, and that of resumed sessions counts as
// well. A model call that was cut off counts with all that it had reserved. The sessions on the
// path within are left out: the new session runs below them, with their meters.
//
// It fails with a [SharedError] while a session other than the new one, of an id, uses one of the
// budgets. So the caller calls it once more after it has opened the new session.
func Carry(ctx context.Context, sessions *store.Store, of, within event.Path, id string) ([]Set, error) {
	var carried []Set
	for n := len(of); n > 0; n-- {
		if slices.ContainsFunc(within, func(hop event.Hop) bool { return hop.SessionID == of[n-1].SessionID }) {
			break
		}
		sets, at, err := ofRuns(ctx, sessions, of[:n])
		if err != nil {
			return nil, err
		}
		if len(sets) == 0 {
			continue
		}
		for _, set := range sets {
			if set.Of == nil {
				set.Of = slices.Clone(at)
			}
			if err := alone(ctx, sessions, set.Of, id); err != nil {
				return nil, err
			}
			used, err := atOrigin(ctx, sessions, set)
			if err != nil {
				return nil, err
			}
			set.Used.add(set.Own)
			for i := range used {
				set.Used[i] = max(set.Used[i], used[i])
			}
			set.Own = Use{}
			carried = append(carried, set)
		}
		if err := alone(ctx, sessions, of[:n], id); err != nil {
			return nil, err
		}
	}
	return carried, nil
}

// ofRuns is [Own] for a session, or the newest one before it whose log has a budget: a log may end
// before that. It returns the path of that session too.
func ofRuns(ctx context.Context, sessions *store.Store, path event.Path) ([]Set, event.Path, error) {
	for {
		sets, err := Own(ctx, sessions, path)
		if err != nil || len(sets) > 0 {
			return sets, path, err
		}
		state, err := sessions.Index.State(ctx, path)
		if err != nil || state.Record.Resumes == "" {
			return nil, nil, err
		}
		before, err := sessions.Index.Get(ctx, state.Record.Resumes)
		if errors.Is(err, record.ErrNotFound) || err == nil && before.ID != state.Record.Resumes {
			return nil, nil, nil // it is deleted
		}
		if err != nil {
			return nil, nil, err
		}
		path = before.Path
	}
}

// alone returns a [SharedError] if a session runs below another one, or as a next run of
// what was there, besides that of an id.
func alone(ctx context.Context, sessions *store.Store, top event.Path, id string) error {
	f, err := familyOf(ctx, sessions, top)
	if err != nil {
		return err
	}
	for _, r := range f.all {
		if r.Agent != "" && r.ID != id && !r.Status.Ended() {
			return &SharedError{r.ID, top[len(top)-1].SessionID}
		}
	}
	return nil
}

// atOrigin returns the usage of a set in the session that it was set for: by all below it, and by
// the sessions that resumed them.
func atOrigin(ctx context.Context, sessions *store.Store, set Set) (Use, error) {
	sets, err := Own(ctx, sessions, set.Of)
	for _, s := range sets {
		if s.By == set.By && s.Limits == set.Limits {
			s.Used.add(s.Own)
			return s.Used, err
		}
	}
	return Use{}, err
}

// family is a session with those below it, and their next runs, which may be elsewhere,
// with those below these.
type family struct {
	all     []*record.Record
	deleted []*retention.Deleted // of it
}

// familyOf returns that of the session at the end of a path.
func familyOf(ctx context.Context, sessions *store.Store, path event.Path) (*family, error) {
	f, seen, counted := &family{}, make(map[string]bool), make(map[string]bool)
	tops := []event.Path{path}
	follow := func(id string) error {
		next, err := sessions.Index.Resumed(ctx, id)
		if next != nil {
			tops = append(tops, next.Path)
		}
		return err
	}
	for i := 0; i < len(tops); i++ {
		tree, err := sessions.Index.Tree(ctx, tops[i])
		if err != nil {
			return nil, err
		}
		deleted, err := sessions.Retention.Deleted(ctx, tops[i]) // behind the records, which go later
		if err != nil {
			return nil, err
		}
		for _, d := range deleted {
			key := fmt.Sprint(d.ID, d.Opened)
			if counted[key] {
				continue
			}
			counted[key] = true
			f.deleted = append(f.deleted, d)
			for _, s := range d.Totals {
				if err := follow(s.ID); err != nil {
					return nil, err
				}
			}
		}
		for _, r := range tree {
			if seen[r.ID] {
				continue
			}
			seen[r.ID] = true
			f.all = append(f.all, r)
			if err := follow(r.ID); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// Own returns the budgets of one session, with their usage.
func Own(ctx context.Context, sessions *store.Store, path event.Path) ([]Set, error) {
	state, err := sessions.Index.State(ctx, path)
	if err != nil || state.Budget == nil {
		return nil, err
	}
	var sets []Set
	if err := json.Unmarshal(state.Budget, &sets); err != nil {
		return nil, fmt.Errorf("the budget of session %s can't be read: %w", path[len(path)-1].SessionID, err)
	}
	used, err := Used(ctx, sessions, path)
	for i := range sets {
		sets[i].Own = used
		if sets[i].Began.IsZero() {
			sets[i].Began = state.Record.StartedAt
		}
	}
	return sets, err
}

// Used returns the usage of a session and of those below it, with the sessions that resumed them,
// from their logs.
func Used(ctx context.Context, sessions *store.Store, top event.Path) (Use, error) {
	var used Use
	f, err := familyOf(ctx, sessions, top)
	if err != nil {
		return used, err
	}
	for _, d := range f.deleted {
		for _, s := range d.Totals {
			used.add(useOf(s))
		}
	}
	for _, r := range retention.Left(f.all, f.deleted) {
		state, err := sessions.Index.State(ctx, r.Path)
		if err != nil {
			return used, err
		}
		if state.Record.Agent != "" {
			used.add(useOf(state.Totals()))
		}
	}
	return used, nil
}

func useOf(s log.Totals) Use {
	cost, _ := s.Usage.Paid() // of a model without a price it is not limited
	return Use{
		Tokens:     s.Usage.InputTokens + s.Usage.OutputTokens + s.Unsettled.Tokens,
		Cost:       int64(cost) + s.Unsettled.Cost,
		ModelCalls: int64(s.Steps) + s.Unsettled.ModelCalls,
		ToolCalls:  s.ToolCalls,
	}
}

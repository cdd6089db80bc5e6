package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/store"
)

// SharedError tells that a session can't go on with another one: what was set for one
// above that is used by another session now, and no two processes count it together.
type SharedError struct {
	SessionID string // which runs
	Owner     string // for which it was set
}

func (e *SharedError) Error() string {
	return fmt.Sprintf("session %s runs on the budget of session %s, which the next run would share: wait for it, or stop it", e.SessionID, e.Owner)
}

// Carry returns what was set for a session that is to go on in another one, and for
// those above it, with what their trees have used, as their logs say: next runs of their
// sessions, wherever these are, count there, too. Of a model call that was cut off nobody
// knows what it has used: what was set aside for it counts. Left out are the sessions of
// within, which the other one runs below: their meters are there.
//
// It fails with a [SharedError] while another session than the one of an id, that of
// the other one, uses some of it. Who has begun that one calls it again.
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

// ofRuns is [Own] for the newest run of a session whose log says what was set for it: that
// of the last one may end before. It returns the path of that run, too.
func ofRuns(ctx context.Context, sessions *store.Store, path event.Path) ([]Set, event.Path, error) {
	for {
		sets, err := Own(ctx, sessions, path)
		if err != nil || len(sets) > 0 {
			return sets, path, err
		}
		state, err := sessions.State(ctx, path)
		if err != nil || state.Record.Resumes == "" {
			return nil, nil, err
		}
		before, err := sessions.Get(ctx, state.Record.Resumes)
		if errors.Is(err, store.ErrNotFound) || err == nil && before.ID != state.Record.Resumes {
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

// atOrigin returns what was used of a set by all that go on below the session that it was
// set for, or with those there.
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
	all     []*store.Record
	deleted []*store.Deleted // of it
}

// familyOf returns that of the session at the end of a path.
func familyOf(ctx context.Context, sessions *store.Store, path event.Path) (*family, error) {
	f, seen, counted := &family{}, make(map[string]bool), make(map[string]bool)
	tops := []event.Path{path}
	follow := func(id string) error {
		next, err := sessions.Next(ctx, id)
		if next != nil {
			tops = append(tops, next.Path)
		}
		return err
	}
	for i := 0; i < len(tops); i++ {
		tree, err := sessions.Tree(ctx, tops[i])
		if err != nil {
			return nil, err
		}
		deleted, err := sessions.Deleted(ctx, tops[i]) // behind the records, which go later
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
			for _, s := range d.Spent {
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

// Own returns what was set for a session that goes on itself, or that those below it
// share, with what was used of it.
func Own(ctx context.Context, sessions *store.Store, path event.Path) ([]Set, error) {
	state, err := sessions.State(ctx, path)
	if err != nil || state.Budget == nil {
		return nil, err
	}
	var sets []Set
	if err := json.Unmarshal(state.Budget, &sets); err != nil {
		return nil, fmt.Errorf("the budget of session %s can't be read: %w", path[len(path)-1].SessionID, err)
	}
	used, err := Spent(ctx, sessions, path)
	for i := range sets {
		sets[i].Own = used
		if sets[i].Began.IsZero() {
			sets[i].Began = state.Record.StartedAt
		}
	}
	return sets, err
}

// Spent returns what a session and those below it have used, with their next runs, as
// their logs say.
func Spent(ctx context.Context, sessions *store.Store, top event.Path) (Use, error) {
	var used Use
	f, err := familyOf(ctx, sessions, top)
	if err != nil {
		return used, err
	}
	for _, d := range f.deleted {
		for _, s := range d.Spent {
			used.add(useOf(s))
		}
	}
	for _, r := range store.Left(f.all, f.deleted) {
		state, err := sessions.State(ctx, r.Path)
		if err != nil {
			return used, err
		}
		if state.Record.Agent != "" {
			used.add(useOf(state.Spent()))
		}
	}
	return used, nil
}

func useOf(s store.Spent) Use {
	cost, _ := s.Usage.Paid() // of a model without a price it is not limited
	return Use{
		Tokens:     s.Usage.InputTokens + s.Usage.OutputTokens + s.Unsettled.Tokens,
		Cost:       int64(cost) + s.Unsettled.Cost,
		ModelCalls: int64(s.Steps) + s.Unsettled.ModelCalls,
		ToolCalls:  s.ToolCalls,
	}
}

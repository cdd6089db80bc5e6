package control

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/agentworker/worker/session/record"
)

// stopInput is what task_stop takes.
type stopInput struct {
	SessionID  string   `json:"sessionId"`
	SessionIDs []string `json:"sessionIds"`
}

func (in *stopInput) Sessions() []string { return named(in.SessionID, in.SessionIDs) }
func (in *stopInput) Check() error       { return checkTargets(in.SessionIDs) }

// Stopped is the answer of task_stop: how the sessions have ended.
type Stopped struct {
	Sessions []State `json:"sessions"`
}

func (in *stopInput) do(ctx context.Context, c *Control, scope *Scope) (Answer, error) {
	records, err := c.some(ctx, scope, in.Sessions())
	if err != nil {
		return nil, err
	}
	if len(in.Sessions()) == 0 { // these end only if they are named
		records = slices.DeleteFunc(records, func(r *record.Record) bool { return r.Detached })
	}
	stopped := make([]*record.Record, len(records))
	errs := make([]error, len(records))
	var all sync.WaitGroup
	for i, r := range records {
		all.Go(func() { stopped[i], errs[i] = c.stop(ctx, r, scope.By) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	states, err := c.states(ctx, stopped)
	return &Stopped{states}, err
}

// stop ends a session with all below it, in whatever process it runs. One that
// has ended does not change.
func (c *Control) stop(ctx context.Context, r *record.Record, by string) (*record.Record, error) {
	stopped, err := c.store.Recovery.Stop(ctx, r.ID, by)
	var before *record.EndedError
	if errors.As(err, &before) {
		return before.Record, nil
	}
	return stopped, err
}

// Answer implements [Answer].
func (s *Stopped) Answer() string {
	if len(s.Sessions) == 0 {
		return "No subagent runs."
	}
	return lines(s.Sessions)
}

package control

import (
	"context"
	"errors"
	"slices"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/requests"
)

// Scope says whose sessions a caller reaches, and who it is. The zero value
// reaches none.
type Scope struct {
	// Below are the ids of sessions: the caller reaches those below them, at any
	// depth, and not these themselves.
	Below []string

	// Workspace has the caller reach every session of the workspace: a person, or
	// a program that has a person's rights.
	Workspace bool

	// By tells people who it is, as in "stopped by the host's user".
	By string

	// As is who it is. Empty means that is not known.
	As record.Person

	// Resume resumes a session that has ended, and returns the id of the new session. nil
	// means the caller can't.
	Resume func(ctx context.Context, r Resumption) (sessionID string, err error)

	// allows leaves out sessions that the caller does not name; nil means none.
	allows func(*record.Record) bool
}

// has reports whether the caller reaches a session.
func (s *Scope) has(r *record.Record) bool {
	if s.Workspace {
		return true
	}
	n := len(r.Path)
	return n > 1 && slices.ContainsFunc(r.Path[:n-1], func(above event.Hop) bool { return slices.Contains(s.Below, above.SessionID) })
}

// Resumption is a session to resume, which has ended.
type Resumption struct {
	Record    *record.Record
	Prompt    string // what its model reads next
	MessageID string // of the prompt; empty means a new one
	FromStep  int    // the last step of Record that the next run continues; 0 means all

	Assignment requests.Assignment // what changes of its task; Prompt has it, too

	// Opened runs once nothing refuses the run any more, and before its first step. Its error
	// fails the run. nil means nothing runs.
	Opened func(ctx context.Context) error
}

// get returns the record of a session that the caller reaches, or of the one that resumed it.
// Any other id, and a part of an id, is [record.ErrNotFound].
func (c *Control) get(ctx context.Context, scope *Scope, id string) (*record.Record, error) {
	r, err := c.store.Index.Get(ctx, id)
	if errors.Is(err, record.ErrNotFound) || errors.Is(err, record.ErrAmbiguous) || err == nil && (r.ID != id || !scope.has(r)) {
		return nil, &record.NotFoundError{What: "session", ID: id}
	}
	if err != nil {
		return nil, err
	}
	return c.store.Index.Newest(ctx, r)
}

// all returns the records of the subagents that the caller reaches, the newest
// first.
func (c *Control) all(ctx context.Context, scope *Scope) ([]*record.Record, error) {
	var records []*record.Record
	var err error
	if scope.Workspace {
		records, err = c.store.Index.List(ctx)
	} else {
		records, err = c.below(ctx, scope.Below)
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(records, func(r *record.Record) bool {
		return r.ParentID == "" || !scope.has(r) || scope.allows != nil && !scope.allows(r)
	}), nil
}

// below returns the records of the sessions of some ids and of all below them, the
// newest first.
func (c *Control) below(ctx context.Context, ids []string) ([]*record.Record, error) {
	var records []*record.Record
	seen := make(map[string]bool)
	for _, id := range ids {
		top, err := c.store.Index.Get(ctx, id)
		if errors.Is(err, record.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		tree, err := c.store.Index.Tree(ctx, top.Path)
		if err != nil {
			return nil, err
		}
		for _, r := range tree {
			if !seen[r.ID] {
				seen[r.ID] = true
				records = append(records, r)
			}
		}
	}
	slices.SortStableFunc(records, func(a, b *record.Record) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return records, nil
}

// some returns the records of the sessions of these ids or, without ids, of all
// subagents that run, the oldest first.
func (c *Control) some(ctx context.Context, scope *Scope, ids []string) ([]*record.Record, error) {
	var records []*record.Record
	for _, id := range ids {
		r, err := c.get(ctx, scope, id)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(records, func(other *record.Record) bool { return other.ID == r.ID }) {
			records = append(records, r)
		}
	}
	if len(ids) > 0 {
		return records, nil
	}
	records, err := c.all(ctx, scope)
	if err != nil {
		return nil, err
	}
	records = slices.DeleteFunc(records, func(r *record.Record) bool { return r.Status.Ended() })
	slices.Reverse(records)
	return records, nil
}

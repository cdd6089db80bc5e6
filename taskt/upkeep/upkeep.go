// Package upkeep is what callers do with sessions that have ended: apply or discard the changes in
// a worktree, summarise a session, delete one. All doors and the command line have the same
// [Operations].
package upkeep

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
)

// Upkeep has what the operations work on.
type Upkeep struct {
	Sessions  *store.Store
	Worktrees *worktree.Store

	// Summarise has a model say what a session was about; nil means that no model can be asked.
	Summarise func(ctx context.Context, id string) (*session.Summary, error)
}

// RefusedError says why an operation can't be done on a session now.
type RefusedError struct{ Err error }

// Error implements error.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns why.
func (e *RefusedError) Unwrap() error { return e.Err }

// refused makes err one that the caller sees.
func refused(err error) error { return &RefusedError{err} }

// Deleted is the answer to a deletion.
type Deleted struct {
	SessionID string `json:"sessionId"`
	Deleted   int    `json:"deleted"` // sessions: it, and those below it
}

// Delete deletes a session with those below it, and all that is stored of them. id is the
// whole id. What a worktree has of it stays. One that has not ended, or has one below it
// that has not, is refused with [retention.ErrRunning].
func (u *Upkeep) Delete(ctx context.Context, id string) (*Deleted, error) {
	n, err := u.Sessions.Retention.Delete(ctx, id)
	if err != nil {
		return nil, err
	}
	return &Deleted{id, n}, nil
}

// Summary has a model say in a few sentences what a session was about. id is the whole id.
// Nothing of it is stored.
func (u *Upkeep) Summary(ctx context.Context, id string) (*session.Summary, error) {
	r, err := u.Sessions.Index.Get(ctx, id)
	if errors.Is(err, record.ErrAmbiguous) || err == nil && r.ID != id {
		err = &record.NotFoundError{What: "session", ID: id}
	}
	if err != nil {
		return nil, err
	}
	if u.Summarise == nil {
		return nil, refused(errors.New("this worker has no model to ask for a summary"))
	}
	summary, err := u.Summarise(ctx, id)
	if err != nil {
		return nil, refused(fmt.Errorf("summarising session %s: %w", id, err))
	}
	return summary, nil
}

package upkeep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt/control"
)

// Operation is one thing that programs do with a session that has ended, through a door.
type Operation struct {
	Name  string // apply
	Title string // for people
	Owner bool   // only the owner of the worker may do it: nothing brings back what it removes

	// Do does it, with the session of a whole id. What cannot be done is a [*RefusedError], a
	// [record.ErrNotFound] or a [retention.ErrRunning]; any other error is a failure of the worker.
	Do func(ctx context.Context, u *Upkeep, id string) (any, error)

	Answer json.RawMessage // JSON Schema of what Do returns
}

// Operations are all of them. Nobody changes them.
var Operations = []*Operation{
	{
		Name: "apply", Title: "Bring what a session has changed in its worktree to the workspace",
		Do: onWorktree((*Upkeep).Apply), Answer: control.SchemaOf[Done](),
	},
	{
		Name: "discard", Title: "Throw away what a session has changed in its worktree",
		Do: onWorktree((*Upkeep).Discard), Answer: control.SchemaOf[Done](),
	},
	{
		Name: "summary", Title: "Have a model say in a few sentences what a session was about",
		Do:     func(ctx context.Context, u *Upkeep, id string) (any, error) { return u.Summary(ctx, id) },
		Answer: control.SchemaOf[session.Summary](),
	},
	{
		Name: "delete", Title: "Delete a session with its subagents, and all that is stored of them", Owner: true,
		Do:     func(ctx context.Context, u *Upkeep, id string) (any, error) { return u.Delete(ctx, id) },
		Answer: control.SchemaOf[Deleted](),
	},
}

// onWorktree is an operation on the worktree of a session. Conflicts are an answer.
func onWorktree(do func(u *Upkeep, ctx context.Context, id string) (*Done, error)) func(context.Context, *Upkeep, string) (any, error) {
	return func(ctx context.Context, u *Upkeep, id string) (any, error) {
		kept, err := u.Worktrees.List()
		if err != nil {
			return nil, fmt.Errorf("looking for the worktree of session %s: %w", id, err)
		}
		if !slices.ContainsFunc(kept, func(w *worktree.Worktree) bool { return w.ID == id }) {
			return nil, &record.NotFoundError{What: "worktree of session", ID: id}
		}
		done, err := do(u, ctx, id)
		if errors.As(err, new(*worktree.ConflictError)) {
			err = nil
		}
		if err != nil {
			return nil, err
		}
		return done, nil
	}
}

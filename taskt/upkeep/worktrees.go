package upkeep

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/retention"
)

// Done is what was done with a worktree.
type Done struct {
	SessionID  string              `json:"sessionId"`
	Status     string              `json:"status"` // applied, discarded, conflicts
	Path       string              `json:"path"`
	Branch     string              `json:"branch"`
	Diffstat   string              `json:"diffstat,omitempty"`
	Files      []worktree.Change   `json:"files"`
	Kept       string              `json:"kept,omitempty"`       // why the worktree is still there
	KeptBranch bool                `json:"keptBranch,omitempty"` // the branch is still there
	Conflicts  []worktree.Conflict `json:"conflicts,omitempty"`

	Repo string `json:"-"` // the files that it was applied to
}

func doneWith(w *worktree.Worktree, status string) *Done {
	return &Done{SessionID: w.ID, Status: status, Path: w.Path, Branch: w.Branch, Files: []worktree.Change{}, Repo: w.Repo}
}

// worktreeOf returns the worktree of a session that has ended, or was deleted. id may be the
// start of an id.
func (u *Upkeep) worktreeOf(ctx context.Context, id string) (*worktree.Worktree, error) {
	w, err := u.Worktrees.Get(id)
	if err != nil {
		return nil, err
	}
	r, err := u.Sessions.Index.Get(ctx, w.ID)
	switch {
	case errors.Is(err, record.ErrNotFound):
		return w, nil // the worktree is kept
	case err == nil && !r.Status.Ended():
		return nil, fmt.Errorf("session %s is %s: %w", r.ID, r.Status, retention.ErrRunning)
	}
	return w, err
}

// Apply brings what a session has changed in its worktree to the workspace, and removes the
// worktree. id may be the start of an id. With a [*worktree.ConflictError] nothing was
// changed, and the answer has the conflicts. Without a worktree the error is
// [worktree.ErrNotFound], while the session runs [retention.ErrRunning].
func (u *Upkeep) Apply(ctx context.Context, id string) (*Done, error) {
	w, err := u.worktreeOf(ctx, id)
	if err != nil {
		return nil, err
	}
	applied, err := w.Apply(ctx)
	if conflict := (*worktree.ConflictError)(nil); errors.As(err, &conflict) {
		done := doneWith(w, "conflicts")
		done.Kept, done.KeptBranch, done.Conflicts = "there are conflicts", true, conflict.Conflicts
		return done, err
	}
	if err != nil {
		return nil, refused(err)
	}
	done := doneWith(w, "applied")
	done.Diffstat, done.Kept, done.KeptBranch = applied.Diffstat(), applied.Kept, applied.Branch != ""
	done.Files = append(done.Files, applied.Files...)
	return done, nil
}

// Discard removes the worktree of a session and its branch, with all that is there. The
// session itself stays. The errors are those of [Upkeep.Apply].
func (u *Upkeep) Discard(ctx context.Context, id string) (*Done, error) {
	w, err := u.worktreeOf(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := w.Discard(ctx); err != nil {
		return nil, refused(err)
	}
	return doneWith(w, "discarded"), nil
}

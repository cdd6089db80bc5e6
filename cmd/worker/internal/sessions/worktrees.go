package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/exit"
	"github.com/agentworker/worker/cmd/worker/internal/progress"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/cmd/worker/internal/usage"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/session/store"
)

func (p commands) applyCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "apply SESSION",
		Short: "Bring what a session has changed in its worktree to the workspace",
		Long: `Brings the changes of SESSION (an id, or the start of one), whose agent worked in a git
worktree of its own, to the files of the workspace as they are now, neither staged nor
committed. A file that has changed in both is merged line by line. Where that can't be
done, nothing is changed, the files are named, and the worktree is kept; else it is
removed. Its branch stays if the agent has committed something on it.

'worker sessions list --worktrees' shows what can be applied.

Exit status: 0 applied, 1 there are conflicts, no such worktree, or its session still runs.`,
		Example:           `  worker sessions apply ses_4f2k`,
		Args:              usage.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeWorktrees,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withWorktree(cmd.Context(), args[0], func(ctx context.Context, w *worktree.Worktree) error {
				return p.applyWorktree(ctx, w, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done as one JSON document")
	return cmd
}

func (p commands) discardCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "discard SESSION",
		Short: "Throw away what a session has changed in its worktree",
		Long: `Removes the git worktree of SESSION (an id, or the start of one) and its branch, with all
that its agent has done there. The session itself stays.`,
		Example:           `  worker sessions discard ses_4f2k`,
		Args:              usage.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeWorktrees,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withWorktree(cmd.Context(), args[0], func(ctx context.Context, w *worktree.Worktree) error {
				return p.discardWorktree(ctx, w, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done as one JSON document")
	return cmd
}

// withWorktree has f work on the worktree of a session that has ended.
func (p commands) withWorktree(ctx context.Context, id string, f func(context.Context, *worktree.Worktree) error) error {
	ws, err := p.Workspace()
	if err != nil {
		return err
	}
	w, err := app.Worktrees(ws).Get(id)
	if err != nil {
		return fmt.Errorf("%w: 'worker sessions list --worktrees' shows what is kept", err)
	}
	err = p.WithStorage(ctx, func(s *app.Storage) error {
		if err := s.Recover(ctx); err != nil { // what a killed worker left has ended
			return err
		}
		r, err := s.Records.Get(ctx, w.ID)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil // deleted; the worktree is kept
		case err == nil && !r.Status.Ended():
			return fmt.Errorf("session %s is %s: wait for its end, or stop it with 'worker sessions stop %s'", r.ID, r.Status, r.ID)
		}
		return err
	})
	if err != nil {
		return err
	}
	return f(ctx, w)
}

// worktreeDone is what was done with a worktree, as programs read it.
type worktreeDone struct {
	SessionID  string              `json:"sessionId"`
	Status     string              `json:"status"` // applied, discarded, conflicts
	Path       string              `json:"path"`
	Branch     string              `json:"branch"`
	Diffstat   string              `json:"diffstat,omitempty"`
	Files      []worktree.Change   `json:"files"`
	Kept       string              `json:"kept,omitempty"`       // why the worktree is still there
	KeptBranch bool                `json:"keptBranch,omitempty"` // the branch is still there
	Conflicts  []worktree.Conflict `json:"conflicts,omitempty"`
}

func doneWith(w *worktree.Worktree, status string) worktreeDone {
	return worktreeDone{SessionID: w.ID, Status: status, Path: w.Path, Branch: w.Branch, Files: []worktree.Change{}}
}

func (p commands) applyWorktree(ctx context.Context, w *worktree.Worktree, asJSON bool) error {
	applied, err := w.Apply(ctx)
	var conflict *worktree.ConflictError
	if errors.As(err, &conflict) && asJSON {
		done := doneWith(w, "conflicts")
		done.Kept, done.KeptBranch, done.Conflicts = "there are conflicts", true, conflict.Conflicts
		if err := p.PrintJSON(done, true); err != nil {
			return err
		}
		p.Complain(err)
		return exit.Failed
	}
	if err != nil {
		return err
	}
	if asJSON {
		done := doneWith(w, "applied")
		done.Diffstat, done.Kept, done.KeptBranch = applied.Diffstat(), applied.Kept, applied.Branch != ""
		done.Files = append(done.Files, applied.Files...)
		return p.PrintJSON(done, true)
	}
	for _, f := range applied.Files {
		fmt.Fprintf(p.Stdout, "%s %s\n", f.Kind, termtext.OneLine(f.Path, 1000))
	}
	fmt.Fprintf(p.Stderr, "%s is applied to %s: %s\n", w.ID, w.Repo, applied.Diffstat())
	if applied.Branch != "" {
		fmt.Fprintf(p.Stderr, "its commits stay on the branch %s\n", applied.Branch)
	}
	if applied.Kept != "" {
		fmt.Fprintf(p.Stderr, "the worktree %s is kept: %s\n", w.Path, termtext.Printable(applied.Kept))
	}
	return nil
}

func (p commands) discardWorktree(ctx context.Context, w *worktree.Worktree, asJSON bool) error {
	if err := w.Discard(ctx); err != nil {
		return err
	}
	if asJSON {
		return p.PrintJSON(doneWith(w, "discarded"), true)
	}
	fmt.Fprintf(p.Stderr, "%s is discarded: its worktree and the branch %s are gone\n", w.ID, w.Branch)
	return nil
}

// keptWorktree is a worktree as the list shows it.
type keptWorktree struct {
	SessionID string       `json:"sessionId"`
	Status    store.Status `json:"status,omitempty"` // of the session; empty means it is not known any more
	Agent     string       `json:"agent,omitempty"`
	Branch    string       `json:"branch"`
	Path      string       `json:"path"`
	Repo      string       `json:"repo"`
	CreatedAt time.Time    `json:"createdAt"`
	Diffstat  string       `json:"diffstat,omitempty"`
	Error     string       `json:"error,omitempty"` // why the changes are not known
}

func (p commands) listWorktrees(ctx context.Context, sessions *store.Store, asJSON, wide bool) error {
	ws, err := p.Workspace()
	if err != nil {
		return err
	}
	all, err := app.Worktrees(ws).List()
	if err != nil {
		return err
	}
	kept := []keptWorktree{}
	for _, w := range all {
		k := keptWorktree{SessionID: w.ID, Branch: w.Branch, Path: w.Path, Repo: w.Repo, CreatedAt: w.CreatedAt}
		if r, err := sessions.Get(ctx, w.ID); err == nil {
			k.Status, k.Agent = r.Status, r.Agent
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if changes, err := w.Changes(ctx); err != nil {
			k.Error = errtext.Of(err)
		} else {
			k.Diffstat = changes.Diffstat()
		}
		kept = append(kept, k)
	}
	if asJSON {
		return p.PrintJSON(kept, true)
	}
	if len(kept) == 0 {
		fmt.Fprintln(p.Stderr, "no worktrees are kept")
		return nil
	}
	t := &terminal.Table{
		Header: []string{"ID", "STATUS", "AGENT", "CHANGES", "CREATED", "PATH"},
		Drop:   []string{"CREATED", "PATH", "AGENT"},
		Colors: func(row []string) terminal.Color { return progress.StatusColor(row[1]) },
	}
	for _, k := range kept {
		changes := k.Diffstat
		if k.Error != "" {
			changes = k.Error
		}
		t.Add(k.SessionID, terminal.Dash(string(k.Status)), terminal.Dash(k.Agent), termtext.OneLine(changes, 100),
			k.CreatedAt.Local().Format(time.DateTime), termtext.OneLine(k.Path, 300))
	}
	return p.PrintTable(t, wide)
}

// completeWorktrees completes the ids of worktrees that are kept.
func (p commands) completeWorktrees(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || p.Settings.Load(p.Getenv) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ws, err := p.Workspace()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, _ := app.Worktrees(ws).List() // without them nothing is completed
	var ids []string
	for _, w := range all {
		if strings.HasPrefix(w.ID, typed) {
			ids = append(ids, w.ID)
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

package sessions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/progress"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/retention"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/upkeep"
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
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeWorktrees(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.applyWorktree(cmd.Context(), args[0], asJSON)
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
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeWorktrees(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.discardWorktree(cmd.Context(), args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done as one JSON document")
	return cmd
}

// onWorktree does something with the worktree of a session that has ended.
func (p commands) onWorktree(ctx context.Context, do func(u *upkeep.Upkeep) (*upkeep.Done, error)) (done *upkeep.Done, err error) {
	ws, err := p.Workspace()
	if err != nil {
		return nil, err
	}
	err = p.WithStorage(ctx, func(s *app.Storage) error {
		if err := s.Recover(ctx); err != nil { // what a killed worker left has ended
			return err
		}
		done, err = do(&upkeep.Upkeep{Sessions: s.Records, Worktrees: app.Worktrees(ws)})
		switch {
		case errors.Is(err, worktree.ErrNotFound):
			return fmt.Errorf("%w: 'worker sessions list --worktrees' shows what is kept", err)
		case errors.Is(err, retention.ErrRunning):
			return fmt.Errorf("%w: wait for its end, or stop it with 'worker sessions stop'", err)
		}
		return err
	})
	return done, err
}

func (p commands) applyWorktree(ctx context.Context, id string, asJSON bool) error {
	done, err := p.onWorktree(ctx, func(u *upkeep.Upkeep) (*upkeep.Done, error) { return u.Apply(ctx, id) })
	if errors.As(err, new(*worktree.ConflictError)) && asJSON {
		if err := p.PrintJSON(done, true); err != nil {
			return err
		}
		p.Complain(err)
		return cli.Failed
	}
	if err != nil {
		return err
	}
	if asJSON {
		return p.PrintJSON(done, true)
	}
	for _, f := range done.Files {
		fmt.Fprintf(p.Stdout, "%s %s\n", f.Kind, termtext.OneLine(f.Path, termtext.MaxReport))
	}
	fmt.Fprintf(p.Stderr, "%s is applied to %s: %s\n", done.SessionID, done.Repo, done.Diffstat)
	if done.KeptBranch {
		fmt.Fprintf(p.Stderr, "its commits stay on the branch %s\n", done.Branch)
	}
	if done.Kept != "" {
		fmt.Fprintf(p.Stderr, "the worktree %s is kept: %s\n", done.Path, termtext.Printable(done.Kept))
	}
	return nil
}

func (p commands) discardWorktree(ctx context.Context, id string, asJSON bool) error {
	done, err := p.onWorktree(ctx, func(u *upkeep.Upkeep) (*upkeep.Done, error) { return u.Discard(ctx, id) })
	if err != nil {
		return err
	}
	if asJSON {
		return p.PrintJSON(done, true)
	}
	fmt.Fprintf(p.Stderr, "%s is discarded: its worktree and the branch %s are gone\n", done.SessionID, done.Branch)
	return nil
}

// keptWorktree is a worktree as the list shows it.
type keptWorktree struct {
	SessionID string        `json:"sessionId"`
	Status    record.Status `json:"status,omitempty"` // of the session; empty means it is not known any more
	Agent     string        `json:"agent,omitempty"`
	Branch    string        `json:"branch"`
	Path      string        `json:"path"`
	Repo      string        `json:"repo"`
	CreatedAt time.Time     `json:"createdAt"`
	Diffstat  string        `json:"diffstat,omitempty"`
	Error     string        `json:"error,omitempty"` // why the changes are not known
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
		if r, err := sessions.Index.Get(ctx, w.ID); err == nil {
			k.Status, k.Agent = r.Status, r.Agent
		} else if !errors.Is(err, record.ErrNotFound) {
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
		t.Add(k.SessionID, terminal.Dash(string(k.Status)), terminal.Dash(k.Agent), termtext.OneLine(changes, termtext.MaxTitle),
			k.CreatedAt.Local().Format(time.DateTime), termtext.OneLine(k.Path, termtext.MaxCause))
	}
	return p.PrintTable(t, wide)
}

// completeWorktrees completes the ids of worktrees that are kept.
func (p commands) completeWorktrees() cobra.CompletionFunc {
	return p.Complete(false, func(context.Context) (ids []string) {
		if ws, err := p.Workspace(); err == nil {
			kept, _ := app.Worktrees(ws).List() // without them nothing is completed
			for _, w := range kept {
				ids = append(ids, w.ID)
			}
		}
		return ids
	})
}

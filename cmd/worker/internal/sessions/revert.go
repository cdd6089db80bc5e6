package sessions

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/internal/snapshot"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/retention"
)

func (p commands) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff SESSION",
		Short: "Show what a session has changed in files",
		Long: `Prints the difference between the files that SESSION (an id, or the start of one) has
changed with write_file, edit_file and apply_patch, as they were before its first change,
and as they are now. What its commands and its subagents have changed is not among it.`,
		Example:           `  worker sessions diff ses_4f2k`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.CompleteSessions(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := changedFiles(cmd.Context(), p, args, -1, false)
			for _, f := range files {
				showChanged(p, &f)
			}
			return err
		},
	}
}

func (p commands) revertCommand() *cobra.Command {
	var to int
	var force bool
	cmd := &cobra.Command{
		Use:   "revert SESSION [FILE…]",
		Short: "Undo what a session has changed in files",
		Long: `Makes the files that SESSION (an id, or the start of one) has changed with write_file,
edit_file and apply_patch what they were before its first change, or after the step
--to. With FILEs, only those. If somebody else, or a command, has changed one of them since,
nothing is undone and the files are named; --force undoes their changes, too. Nothing is kept
of files that only commands have changed: they stay, and so do those that subagents have
changed, which are sessions of their own.

Exit status: 0 undone, 1 others have changed a file, or the session still runs.`,
		Example: `  worker sessions revert ses_4f2k
  worker sessions revert --to 3 ses_4f2k main.go`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: p.CompleteSessions(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := changedFiles(cmd.Context(), p, args, to, true)
			if err != nil {
				return err
			}
			if err := snapshot.Revert(files, force); err != nil {
				return err
			}
			for _, f := range files {
				if !f.Undone() {
					fmt.Fprintln(p.Stdout, termtext.OneLine(f.Path, termtext.MaxReport))
				}
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&to, "to", -1, "undo only what came after this step of the session; 0 is before the first")
	cmd.Flags().BoolVar(&force, "force", false, "also undo what others have changed since")
	return cmd
}

// changedFiles returns the files that a session has changed after a step. args are the session,
// and the files that count; none means all.
func changedFiles(ctx context.Context, p commands, args []string, step int, ended bool) (files []snapshot.File, err error) {
	ws, err := p.Workspace()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range args[1:] {
		if abs, err := filepath.Abs(name); err == nil && filepath.IsAbs(name) {
			if rel, err := filepath.Rel(ws.Root, abs); err == nil {
				name = rel
			}
		}
		names = append(names, filepath.ToSlash(filepath.Clean(name)))
	}
	err = p.WithStorage(ctx, func(s *app.Storage) error {
		if ended {
			if err := s.Recover(ctx); err != nil { // what a killed worker left has ended
				return err
			}
		}
		r, err := s.Records.Index.Get(ctx, args[0])
		if err != nil {
			return err
		}
		if ended && !r.Status.Ended() {
			return fmt.Errorf("%s: %w: wait for its end, or stop it with 'worker sessions stop'", r.ID, retention.ErrRunning)
		}
		if files, err = app.Snapshots(ws).Files(r.ID, step, names); err != nil && r.Work.Untold > 0 {
			return fmt.Errorf("%w; nothing is kept of what its commands have changed", err)
		}
		app.NoteUnkept(p.Stderr, r)
		if err == nil && len(files) == 0 {
			fmt.Fprintf(p.Stderr, "no changes of files are kept of %s; each subagent has its own: 'worker sessions list --all' shows them\n", r.ID)
		}
		return err
	})
	return files, err
}

// showChanged prints what a session has made of a file.
func showChanged(p commands, f *snapshot.File) {
	before, after := string(f.Before), string(f.Now)
	switch {
	case f.Undone():
		return
	case !utf8.ValidString(before+after) || strings.ContainsRune(before+after, 0):
		fmt.Fprintf(p.Stdout, "binary file %s differs\n", termtext.OneLine(f.Path, termtext.MaxReport))
	default:
		from, to := "a/"+f.Path, "b/"+f.Path
		if f.Before == nil {
			from = "/dev/null"
		}
		if f.Now == nil {
			to = "/dev/null"
		}
		fmt.Fprint(p.Stdout, termtext.Printable(udiff.Unified(from, to, before, after)))
	}
	if f.Conflict != "" {
		fmt.Fprintf(p.Stderr, "%s: %s\n", termtext.OneLine(f.Path, termtext.MaxReport), f.Conflict)
	}
}

// removeSnapshots removes what is kept of a session's files.
func removeSnapshots(p commands, id string) error {
	ws, err := p.Workspace()
	if err != nil {
		return err
	}
	return app.Snapshots(ws).Remove(id)
}

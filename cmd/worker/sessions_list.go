package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/progress"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/cmd/worker/internal/usage"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/store"
)

func (p *program) sessionsListCommand() *cobra.Command {
	var asJSON, all, kept, wide bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sessions, the newest first",
		Long: `Lists the sessions that run and those that have ended lately, the newest first. What
ended longer ago than --archive-after is archived, and listed with --all.

With --worktrees it lists the git worktrees of sessions that are kept instead: those in
use, those with changes that were neither applied nor discarded, and what killed
processes have left.`,
		Args: usage.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withSessions(cmd.Context(), func(ctx context.Context, sessions *store.Store) error {
				if kept {
					return p.listWorktrees(ctx, sessions, asJSON, wide)
				}
				return p.listSessions(ctx, sessions, all, asJSON, wide)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the records as a JSON array")
	cmd.Flags().BoolVar(&all, "all", false, "list archived sessions too")
	cmd.Flags().BoolVar(&kept, "worktrees", false, "list the git worktrees that are kept")
	registerWide(cmd, &wide)
	return cmd
}

// listed is a record as the list shows it.
type listed struct {
	*store.Record
	Archived bool `json:"archived"`
}

func (p *program) listSessions(ctx context.Context, sessions *store.Store, all, asJSON, wide bool) error {
	records, err := sessions.List(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	shown := []listed{}
	for _, r := range records {
		if archived := r.Archived(p.settings.ArchiveAfter, now); all || !archived {
			shown = append(shown, listed{r, archived})
		}
	}
	if asJSON {
		return p.printJSON(shown, true)
	}
	hidden := len(records) - len(shown)
	switch {
	case len(records) == 0:
		fmt.Fprintln(p.stderr, "no sessions yet: try worker task explore \"…\"")
		return nil
	case hidden > 0:
		defer fmt.Fprintf(p.stderr, "%d archived, see them with --all\n", hidden)
	}
	if len(shown) == 0 {
		return nil
	}
	t := &terminal.Table{
		Header: []string{"ID", "STATUS", "AGENT", "PARENT", "STEPS", "TOKENS", "STARTED", "TIME", "DESCRIPTION"},
		Drop:   []string{"TOKENS", "STEPS", "PARENT", "TIME", "STARTED"},
		Colors: func(row []string) terminal.Color { return progress.StatusColor(row[1]) },
	}
	for _, r := range shown {
		t.Add(r.ID, string(r.Status), terminal.Dash(r.Agent), terminal.Dash(r.ParentID), strconv.Itoa(r.Steps),
			strconv.FormatInt(r.Usage.InputTokens+r.Usage.OutputTokens, 10), r.CreatedAt.Local().Format(time.DateTime),
			r.Duration(now).Round(time.Millisecond).String(), termtext.OneLine(r.Description, 60))
	}
	return p.printTable(t, wide)
}

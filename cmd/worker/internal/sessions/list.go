package sessions

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/progress"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
)

func (p commands) listCommand() *cobra.Command {
	var asJSON, all, kept, wide bool
	var o index.ListOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sessions, the newest first",
		Long: `Lists the sessions that run and those that have ended lately, the newest first. What
ended longer ago than --archive-after is archived, and listed with --all. So are
subagents that have ended: their transcripts are part of their callers', unless their
agent file says inspectable: true.

With --worktrees it lists the git worktrees of sessions that are kept instead: those in
use, those with changes that were neither applied nor discarded, and what killed
processes have left.

If there are more sessions than --limit, the command says on stderr with which --cursor
the list goes on. Page after page has each session once, whatever changes meanwhile.`,
		Example: `  worker sessions list
  worker sessions list --all --limit 1000 --json | jq -r '.[].id'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Limit < 1 || o.Limit > index.MaxPage {
				return cli.Usage(fmt.Errorf("--limit %d: a page has 1 to %d sessions", o.Limit, index.MaxPage))
			}
			now := time.Now()
			o.Nested = all
			if after := p.Settings.ArchiveAfter; !all && after > 0 {
				o.Since = now.Add(-after)
			}
			return p.WithSessions(cmd.Context(), func(ctx context.Context, sessions *store.Store) error {
				if kept {
					return p.listWorktrees(ctx, sessions, asJSON, wide)
				}
				page, err := sessions.Index.Page(ctx, o)
				if errors.Is(err, index.ErrCursor) {
					return cli.Usage(err)
				}
				if err != nil {
					return err
				}
				return errors.Join(p.printSessions(page, now, asJSON, wide), p.printRest(page, o))
			})
		},
	}
	cmd.Flags().IntVar(&o.Limit, "limit", 100, fmt.Sprintf("how many sessions at most, 1 to %d", index.MaxPage))
	cmd.Flags().StringVar(&o.Cursor, "cursor", "", "continue a list that was cut off: the value that it has printed")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the records as a JSON array")
	cmd.Flags().BoolVar(&all, "all", false, "list archived sessions too, and subagents that have ended")
	cmd.Flags().BoolVar(&kept, "worktrees", false, "list the git worktrees that are kept")
	app.RegisterWide(cmd, &wide)
	return cmd
}

// listed is a record as the list shows it.
type listed struct {
	*record.Record
	Archived bool `json:"archived"`
}

// printRest says which part of the list is not shown.
func (p commands) printRest(page *index.Page, o index.ListOptions) error {
	var err error
	switch {
	case page.Next != "":
		_, err = fmt.Fprintf(p.Stderr, "there are more: --cursor %s\n", page.Next)
	case page.Left:
		_, err = fmt.Fprintln(p.Stderr, "what ended earlier is archived, see it with --all")
	case len(page.Sessions) == 0 && o.Cursor == "":
		_, err = fmt.Fprintln(p.Stderr, "no sessions yet: try worker task explore \"…\"")
	}
	return err
}

func (p commands) printSessions(page *index.Page, now time.Time, asJSON, wide bool) error {
	shown := []listed{}
	for _, r := range page.Sessions {
		shown = append(shown, listed{r, r.Archived(p.Settings.ArchiveAfter, now)})
	}
	if asJSON {
		return p.PrintJSON(shown, true)
	}
	if len(shown) == 0 {
		return nil
	}
	t := &terminal.Table{
		Header: []string{"ID", "STATUS", "AGENT", "PARENT", "STEPS", "TOKENS", "COST", "STARTED", "TIME", "DESCRIPTION"},
		Drop:   []string{"COST", "TOKENS", "STEPS", "PARENT", "TIME", "STARTED"},
		Colors: func(row []string) terminal.Color { return progress.StatusColor(row[1]) },
	}
	for _, r := range shown {
		t.Add(r.ID, string(r.Status), terminal.Dash(r.Agent), terminal.Dash(r.ParentID), strconv.Itoa(r.Steps),
			strconv.FormatInt(r.Usage.InputTokens+r.Usage.OutputTokens, 10), r.Usage.ShowCost(), r.CreatedAt.Local().Format(time.DateTime),
			r.Duration(now).Round(time.Millisecond).String(), termtext.OneLine(r.Description, termtext.MaxName))
	}
	return p.PrintTable(t, wide)
}

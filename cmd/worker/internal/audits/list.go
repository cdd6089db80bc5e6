package audits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/audit"
)

func (p commands) listCommand() *cobra.Command {
	var c chosen
	var asJSON, wide bool
	var limit int
	var cursor string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the records, the newest first",
		Long: `Lists what the audit log of this workspace has: which calls were allowed and denied, by
which rule or whose answer, and which sessions began and ended.

If there are more records than --limit, the command says on stderr with which --cursor
the list goes on.`,
		Example: `  worker audit list --outcome denied --since 7d
  worker audit list --tool shell_exec --json | jq -r '.[].values[].text'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > audit.MaxPage {
				return cli.Usage(fmt.Errorf("--limit %d: a page has 1 to %d records", limit, audit.MaxPage))
			}
			filter, err := c.filter(time.Now())
			if err != nil {
				return err
			}
			return p.withLog(cmd.Context(), func(log *audit.Log) error {
				return p.list(cmd.Context(), log, filter, limit, cursor, asJSON, wide)
			})
		},
	}
	c.register(cmd.Flags())
	cmd.Flags().IntVar(&limit, "limit", 100, fmt.Sprintf("how many records at most, 1 to %d", audit.MaxPage))
	cmd.Flags().StringVar(&cursor, "cursor", "", "continue a list that was cut off: the value that it has printed")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the records as a JSON array")
	app.RegisterWide(cmd, &wide)
	return cmd
}

func (p commands) list(ctx context.Context, log *audit.Log, f *audit.Filter, limit int, cursor string, asJSON, wide bool) error {
	page, err := log.Page(ctx, f, limit, cursor)
	if errors.Is(err, audit.ErrCursor) {
		return cli.Usage(err)
	}
	if err != nil {
		return err
	}
	if asJSON {
		err = p.PrintJSON(page.Records, true)
	} else if len(page.Records) > 0 {
		err = p.PrintTable(table(page.Records), wide)
	}
	switch {
	case page.Next != "":
		fmt.Fprintf(p.Stderr, "there are more: --cursor %s\n", page.Next)
	case len(page.Records) == 0 && cursor == "":
		fmt.Fprintln(p.Stderr, "no records")
	}
	return err
}

func table(records []*audit.Record) *terminal.Table {
	t := &terminal.Table{
		Header: []string{"N", "TIME", "KIND", "STATUS", "AGENT", "TOOL", "SESSION", "BY", "WHAT"},
		Drop:   []string{"SESSION", "BY", "KIND", "AGENT", "N"},
		Colors: func(row []string) terminal.Color { return color(row[3]) },
	}
	for _, r := range records {
		t.Add(fmt.Sprint(r.N), r.Time.Local().Format(time.DateTime), string(r.Kind), terminal.Dash(r.Outcome), terminal.Dash(termtext.OneLine(r.Agent, termtext.MaxColumn)),
			terminal.Dash(termtext.OneLine(r.Tool, termtext.MaxColumn)), terminal.Dash(r.SessionID), terminal.Dash(termtext.OneLine(by(r), termtext.MaxName)), terminal.Dash(termtext.OneLine(what(r), termtext.MaxLabel)))
	}
	return t
}

// by returns who or what has decided. Of a rule's place it has the name of the file, and the
// line; --json and exports have the whole path.
func by(r *audit.Record) string {
	if r.By == "" && r.Source != "" {
		return filepath.Base(r.Source)
	}
	return cmp.Or(r.By, string(r.Layer))
}

// what returns what a record is about, in a line.
func what(r *audit.Record) string {
	switch {
	case len(r.Values) > 1 || r.LeftOut > 0:
		return fmt.Sprintf("%s (+%d)", r.Values[0].Text, len(r.Values)-1+r.LeftOut)
	case len(r.Values) == 1:
		return r.Values[0].Text
	case r.Question != "":
		return r.Question
	case r.Kind == audit.PolicyChange:
		return "policy " + cmp.Or(r.Policy, "none") + " after " + cmp.Or(r.Before, "none")
	case r.Rotated != nil:
		return fmt.Sprintf("records up to %d are taken out", r.Rotated.N)
	case r.Kind == audit.SessionStart:
		return r.Client
	}
	return r.Reason
}

func color(outcome string) terminal.Color {
	switch outcome {
	case audit.Allowed, "approved", "completed":
		return terminal.Green
	case audit.Denied, "failed", "timed_out":
		return terminal.Red
	}
	return terminal.Yellow
}

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/usage"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/control"
)

func (p *program) sessionsResultCommand() *cobra.Command {
	var asJSON bool
	var offset, limit int
	cmd := &cobra.Command{
		Use:   "result SESSION",
		Short: "Print what a subagent has answered",
		Long: `Prints the answer of SESSION (an id, or the start of one), a subagent that has ended, or
why it failed. --offset and --limit print a part of it; they count characters.
'worker sessions log' has the transcript.`,
		Args:              usage.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeSessions(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withSessions(cmd.Context(), func(ctx context.Context, sessions *store.Store) error {
				answer, err := p.control(ctx, sessions, "task_result", args, map[string]any{"offset": offset, "limit": limit})
				if err != nil {
					return err
				}
				page := answer.(*control.Page)
				if asJSON {
					return p.printJSON(page, true)
				}
				fmt.Fprintln(p.stdout, termtext.Printable(page.Text))
				if page.NextOffset > 0 {
					fmt.Fprintf(p.stderr, "characters %d to %d of %d: --offset %d goes on\n", page.Offset, page.NextOffset, page.Total, page.NextOffset)
				}
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&offset, "offset", 0, "how many characters to pass over")
	cmd.Flags().IntVar(&limit, "limit", 1_000_000, "how many characters to print at most, up to 1,000,000")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the text and its place as JSON")
	return cmd
}

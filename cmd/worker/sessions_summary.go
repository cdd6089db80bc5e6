package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/usage"
	"github.com/agentworker/worker/internal/termtext"
)

func (p *program) sessionsSummaryCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "summary SESSION",
		Short: "Say in a few sentences what a session has done",
		Long: `Has the agent summary say in a few sentences what SESSION (an id, or the start of one) was
about, in one call of a model: that of the alias small, if there is one, else the default.
What that costs is printed on stderr. Nothing of it is stored.`,
		Args:              usage.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeSessions(false),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			ctx := cmd.Context()
			a, err := p.openApp(ctx, nil, false, false)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, a.close()) }()
			r, err := a.records.Get(ctx, args[0])
			if err != nil {
				return meant(ctx, a.records, err)
			}
			summary, err := a.tasks.Summarise(ctx, r.ID)
			if err != nil {
				return err
			}
			if asJSON {
				return p.printJSON(summary, true)
			}
			fmt.Fprintln(p.stdout, termtext.Printable(summary.Text))
			used := summary.Usage
			fmt.Fprintf(p.stderr, "by %s; tokens: %d; cost: %s\n", summary.Model, used.InputTokens+used.OutputTokens, used.ShowCost())
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the summary, its model and what it has used as JSON")
	return cmd
}

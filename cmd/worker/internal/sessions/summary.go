package sessions

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/internal/termtext"
)

func (p commands) summaryCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "summary SESSION",
		Short: "Say in a few sentences what a session has done",
		Long: `Has the agent summary say in a few sentences what SESSION (an id, or the start of one) was
about, in one call of a model: that of the alias small, if there is one, else the default.
What that costs is printed on stderr. Nothing of it is stored.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.CompleteSessions(false),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			ctx := cmd.Context()
			a, err := p.OpenWorker(ctx, nil)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, a.Close()) }()
			r, err := a.Records.Get(ctx, args[0])
			if err != nil {
				return app.Meant(ctx, a.Records, err)
			}
			summary, err := a.Tasks.Summarise(ctx, r.ID)
			if err != nil {
				return err
			}
			if asJSON {
				return p.PrintJSON(summary, true)
			}
			fmt.Fprintln(p.Stdout, termtext.Printable(summary.Text))
			used := summary.Usage
			fmt.Fprintf(p.Stderr, "by %s; tokens: %d; cost: %s\n", summary.Model, used.InputTokens+used.OutputTokens, used.ShowCost())
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the summary, its model and what it has used as JSON")
	return cmd
}

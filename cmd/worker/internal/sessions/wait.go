package sessions

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/control"
)

func (p commands) waitCommand() *cobra.Command {
	var asJSON, anyOf bool
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "wait SESSION…",
		Short: "Wait for sessions that run, and print their results",
		Long: `Waits until each SESSION (an id, or the start of one) has ended, in whatever process it
runs, and prints the results: <task_result> or <task_error> elements on stdout.

Exit status: 0 all results are there, 1 a task failed, 5 the time is over.`,
		Example: `  worker sessions wait ses_4f2k ses_9x1p
  worker sessions wait --any --limit 1m ses_4f2k ses_9x1p`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: p.CompleteSessions(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := map[string]any{"until": "all"}
			if anyOf {
				in["until"] = "any"
			}
			if cmd.Flags().Changed("limit") {
				if limit < 0 || limit > control.MaxWait {
					return cli.Usage(fmt.Errorf("--limit %s: it is not within 0 and %s", limit, errtext.Duration(control.MaxWait)))
				}
				in["timeoutSeconds"] = limit.Seconds()
			}
			return p.WithStorage(cmd.Context(), func(s *app.Storage) error {
				if err := s.Recover(cmd.Context()); err != nil { // nobody waits for what a killed worker left
					return err
				}
				return p.waitForSessions(cmd.Context(), s.Records, args, in, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&anyOf, "any", false, "until one of them has ended")
	cmd.Flags().DurationVar(&limit, "limit", 0, "how long to wait at most; 0: not at all (default: as long as they run)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print how they are, and the results, as one JSON document")
	return cmd
}

func (p commands) waitForSessions(ctx context.Context, sessions *store.Store, ids []string, in map[string]any, asJSON bool) error {
	answer, err := p.control(ctx, sessions, "task_wait", ids, in)
	if err != nil {
		return err
	}
	waited := answer.(*control.Waited)
	if asJSON {
		if err := p.PrintJSON(waited, true); err != nil {
			return err
		}
	} else {
		for _, doc := range waited.Results {
			fmt.Fprintln(p.Stdout, termtext.Printable(doc.Result))
		}
		for _, s := range waited.Sessions {
			if !s.Status.Ended() {
				fmt.Fprintf(p.Stderr, "%s is %s\n", s.SessionID, s.Status)
			}
		}
	}
	status := cli.Done
	for _, s := range waited.Sessions {
		switch {
		case !s.Status.Ended() && in["until"] != "any":
			status = cli.OutOfTime
		case s.Status.Ended() && s.Status != record.Completed && status == cli.Done:
			status = cli.Failed
		}
	}
	if in["until"] == "any" && waited.Running == len(waited.Sessions) {
		status = cli.OutOfTime
	}
	if status == cli.Done {
		return nil
	}
	return status
}

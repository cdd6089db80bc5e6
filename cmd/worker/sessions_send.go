package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/usage"
	"github.com/agentworker/worker/session/store"
)

func (p *program) sessionsSendCommand() *cobra.Command {
	var interrupt, asJSON bool
	var key string
	var assignment store.Assignment
	cmd := &cobra.Command{
		Use:   "send SESSION [MESSAGE]",
		Short: "Send a session that runs a message",
		Long: `Has the model of SESSION (an id, or the start of one) read MESSAGE before its next step,
in whatever process it runs, and returns once that process has taken it. With --interrupt
the step that runs is ended, and messages that the model has not read are dropped.
With --objective or --role SESSION has another assignment; MESSAGE may be left out then.

Exit status: 0 the message is taken, 1 the session has ended or is giving its answer.`,
		Example: `  worker sessions send ses_4f2k "Leave the vendor folder alone."
  worker sessions send --interrupt ses_4f2k "Stop, and report what you have."`,
		Args:              usage.Args(cobra.RangeArgs(1, 2)),
		ValidArgsFunction: p.completeSessions(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withSessions(cmd.Context(), func(ctx context.Context, sessions *store.Store) error {
				in := map[string]any{"message": strings.Join(args[1:], ""), "interrupt": interrupt, "idempotencyKey": key, "objective": assignment.Objective, "role": assignment.Role}
				answer, err := p.control(ctx, sessions, "task_send", args[:1], in)
				if err != nil {
					return err
				}
				if asJSON {
					return p.printJSON(answer, true)
				}
				fmt.Fprintln(p.stderr, answer.Answer())
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&interrupt, "interrupt", false, "end the step that runs, and drop messages that are not read")
	cmd.Flags().StringVar(&key, "key", "", "of all calls with the same key SESSION gets one message")
	assignmentFlags(cmd, &assignment)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the ids of the session and the message as JSON")
	return cmd
}

// assignmentFlags are the flags that change what a session is to do.
func assignmentFlags(cmd *cobra.Command, a *store.Assignment) {
	cmd.Flags().StringVar(&a.Objective, "objective", "", "what SESSION is to do from now on, in place of its task")
	cmd.Flags().StringVar(&a.Role, "role", "", "as what SESSION is to work from now on")
}

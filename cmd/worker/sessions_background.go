package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/usage"
	"github.com/agentworker/worker/session/store"
)

func (p *program) sessionsBackgroundCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "background SESSION",
		Short: "Have a subagent that its caller waits for go on in the background",
		Long: `Has the call of task return that waits for SESSION (an id, or the start of one), in
whatever process it runs. The subagent goes on as one in the background: its caller is
told of its end by a message, and --background-timeout bounds it.

Exit status: 0 it runs in the background, 1 it has ended, or no call waits for it that
could return: that of 'worker task' waits to the end.`,
		Example:           `  worker sessions background ses_4f2k`,
		Args:              usage.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeSessions(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withSessions(cmd.Context(), func(ctx context.Context, sessions *store.Store) error {
				answer, err := p.control(ctx, sessions, "task_background", args, nil)
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
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the session's id and status as JSON")
	return cmd
}

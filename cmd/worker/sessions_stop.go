package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/cmd/worker/internal/usage"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/store"
)

func (p *program) sessionsStopCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stop SESSION…",
		Short: "Stop sessions that run, in whatever process",
		Long: `Stops each SESSION (an id, or the start of one) and its subagents, in whatever process
they run, and waits until they have ended: for 30 seconds at most. What they were asked
to do ends as cancelled, and the caller is told so.

Exit status: 0 all are stopped, 1 one had ended before, is not known, or does not end.`,
		Example:           `  worker sessions stop ses_4f2k`,
		Args:              usage.Args(cobra.MinimumNArgs(1)),
		ValidArgsFunction: p.completeSessions(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withSessions(cmd.Context(), func(ctx context.Context, sessions *store.Store) error {
				var errs []error
				for _, id := range args {
					errs = append(errs, p.stopSession(ctx, sessions, id))
				}
				return errors.Join(errs...)
			})
		},
	}
}

func (p *program) stopSession(ctx context.Context, sessions *store.Store, id string) error {
	r, err := sessions.Stop(ctx, id, operator("worker sessions stop"))
	if err != nil {
		return err
	}
	switch name := r.ID + " (" + terminal.Dash(termtext.OneLine(r.Agent, 40)) + ")"; r.Status {
	case store.Interrupted:
		fmt.Fprintf(p.stderr, "%s is interrupted: its process has gone\n", name)
	default:
		fmt.Fprintf(p.stderr, "%s is %s\n", name, r.Status)
	}
	return nil
}

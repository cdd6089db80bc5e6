package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/control"
)

func (p commands) stopCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "stop SESSION… | --all",
		Short: "Stop sessions that run, in whatever process",
		Long: `Stops each SESSION (an id, or the start of one) and its subagents, in whatever process
they run, and waits until they have ended. Where their process has gone, or has not
ended them within 4 seconds, they are ended in place of it. What they were asked to do
ends as cancelled, and the caller is told so. --all: every agent that runs in this
workspace, but those that were started as detached, which end by their ids alone.

Exit status: 0 all are stopped, 1 one had ended before, is not known, or does not end.`,
		Example: `  worker sessions stop ses_4f2k`,
		Args: func(cmd *cobra.Command, args []string) error {
			if all != (len(args) == 0) {
				return errors.New("name the sessions to stop, or pass --all")
			}
			return nil
		},
		ValidArgsFunction: p.CompleteSessions(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.WithSessions(cmd.Context(), func(ctx context.Context, sessions *store.Store) error {
				if all {
					return p.stopAll(ctx, sessions)
				}
				var errs []error
				for _, id := range args {
					errs = append(errs, p.stopSession(ctx, sessions, id))
				}
				return errors.Join(errs...)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "stop every agent that runs in this workspace")
	return cmd
}

// stopAll stops the agents that run, from the top: those below end with them.
func (p commands) stopAll(ctx context.Context, sessions *store.Store) error {
	records, err := sessions.Index.List(ctx)
	if err != nil {
		return err
	}
	running := make(map[string]bool)
	for _, r := range records {
		running[r.ID] = r.Agent != "" && !r.Status.Ended() && !r.Detached
	}
	var ids []string
	for _, r := range records {
		if running[r.ID] && !running[r.ParentID] {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		fmt.Fprintln(p.Stderr, "no agent runs")
		return nil
	}
	for ids := range slices.Chunk(ids, 1000) { // the most that one call takes
		answer, err := p.control(ctx, sessions, "task_stop", ids, nil)
		if err != nil {
			return err
		}
		p.printStopped(answer.(*control.Stopped))
	}
	return nil
}

func (p commands) stopSession(ctx context.Context, sessions *store.Store, id string) error {
	r, err := sessions.Index.Get(ctx, id)
	if err != nil {
		return err
	}
	if r.Status.Ended() {
		return &record.EndedError{Record: r}
	}
	answer, err := p.control(ctx, sessions, "task_stop", []string{r.ID}, nil)
	if err != nil {
		return err
	}
	p.printStopped(answer.(*control.Stopped))
	return nil
}

// printStopped says how sessions have ended.
func (p commands) printStopped(stopped *control.Stopped) {
	for _, s := range stopped.Sessions {
		name := s.SessionID + " (" + terminal.Dash(termtext.OneLine(s.Agent, termtext.MaxColumn)) + ")"
		if s.Status == record.Interrupted {
			fmt.Fprintf(p.Stderr, "%s is interrupted: its process has gone\n", name)
		} else {
			fmt.Fprintf(p.Stderr, "%s is %s\n", name, s.Status)
		}
	}
}

package run

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/requests"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// continueMessage is the message to a resumed session, if its user gives none.
const continueMessage = "Go on with your task from where you were."

// Resume returns 'worker sessions resume'.
func Resume(program *app.Program) *cobra.Command {
	p := commands{program}
	var opts runOptions
	var assignment requests.Assignment
	cmd := &cobra.Command{
		Use:   "resume SESSION [MESSAGE]",
		Short: "Have a session that has ended go on with its conversation",
		Long: `Runs the agent of SESSION (an id, or the start of one) again, as a new session with all
that SESSION has seen and done, and with MESSAGE ("-": read from stdin) as its next task.
Shows what it does on stderr, and prints its <task_result>, or a <task_error>, on stdout.
The rules that held for SESSION hold again, with those of now.

Exit status: 0 done, 1 the task failed, or SESSION runs or can't be resumed, 2 wrong use,
3 refused by permission, 130 interrupted.`,
		Example: `  worker sessions resume ses_4f2k "Now look at the tests, too."
  worker sessions resume ses_4f2k`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: p.CompleteSessions(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			message := continueMessage
			if len(args) == 2 {
				var err error
				if message, err = p.readPrompt(cmd.Context(), args[1]); err != nil {
					return err
				}
			}
			if err := assignment.Check(); err != nil {
				return cli.Usage(err)
			}
			if err := opts.check(); err != nil {
				return err
			}
			return p.task(cmd.Context(), "", opts, func(a *app.Worker) (*oneTask, error) {
				return resumption(cmd.Context(), a, args[0], message, assignment)
			})
		},
	}
	opts.register(cmd)
	AssignmentFlags(cmd, &assignment)
	return cmd
}

// resumption returns the task that resumes a session.
func resumption(ctx context.Context, a *app.Worker, id, message string, assignment requests.Assignment) (*oneTask, error) {
	r, err := a.Records.Index.Get(ctx, id)
	if err == nil {
		r, err = a.Records.Index.Newest(ctx, r)
	}
	switch {
	case err != nil:
		return nil, app.Meant(ctx, a.Records, err)
	case !r.Status.Ended():
		return nil, fmt.Errorf("session %s has not ended: 'worker sessions send %s MESSAGE' sends it a message", r.ID, r.ID)
	}
	return &oneTask{"worker sessions resume " + r.ID, func(ctx context.Context, root *session.Session) *taskt.Result {
		run := a.Tasks.Resume(ctx, root, control.Resumption{Record: r, Prompt: assignment.Told(message), Assignment: assignment})
		<-run.Done()
		return run.Result()
	}}, nil
}

// AssignmentFlags are the flags that change what a session is to do.
func AssignmentFlags(cmd *cobra.Command, a *requests.Assignment) {
	cmd.Flags().StringVar(&a.Objective, "objective", "", "what SESSION is to do from now on, in place of its task")
	cmd.Flags().StringVar(&a.Role, "role", "", "as what SESSION is to work from now on")
}

package run

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/internal/snapshot"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
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
	var from beginning
	cmd := &cobra.Command{
		Use:   "resume SESSION [MESSAGE]",
		Short: "Have a session that has ended go on with its conversation",
		Long: `Runs the agent of SESSION (an id, or the start of one) again, as a new session with all
that SESSION has seen and done, and with MESSAGE ("-": read from stdin) as its next task.
Shows what it does on stderr, and prints its <task_result>, or a <task_error>, on stdout.
The rules that held for SESSION hold again, with those of now.

With --from, the new session has seen and done only what SESSION had after that step of its
last run; --restore-files makes the files that SESSION's tools have changed since what they
were then, as 'worker sessions revert --to' does. What its commands have changed stays.

Exit status: 0 done, 1 the task failed, or SESSION runs or can't be resumed, 2 wrong use,
3 refused by permission, 130 interrupted.`,
		Example: `  worker sessions resume ses_4f2k "Now look at the tests, too."
  worker sessions resume ses_4f2k
  worker sessions resume ses_4f2k --from 3 --restore-files "No cache, please."`,
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
			if from.step < 0 || cmd.Flags().Changed("from") == (from.step == 0) || from.files && from.step == 0 {
				return cli.Usage(errors.New("--from is a step of SESSION, 1 or more, and --restore-files goes with it"))
			}
			if err := assignment.Check(); err != nil {
				return cli.Usage(err)
			}
			if err := opts.check(); err != nil {
				return err
			}
			return p.task(cmd.Context(), "", opts, func(a *app.Worker) (*oneTask, error) {
				return resumption(cmd.Context(), a, args[0], message, assignment, from, p.Stderr)
			})
		},
	}
	opts.register(cmd)
	AssignmentFlags(cmd, &assignment)
	cmd.Flags().IntVar(&from.step, "from", 0, "go on from after this step of the last run of SESSION (default: from its end)")
	cmd.Flags().BoolVar(&from.files, "restore-files", false, "with --from: make the files what they were after that step")
	return cmd
}

// beginning is where a session goes on.
type beginning struct {
	step  int  // of the session; 0 means its end
	files bool // they are made what they were after the step
}

// restore makes the files that a session has changed what they were before.
func restore(files []snapshot.File, r *record.Record, stderr io.Writer) error {
	if err := snapshot.Revert(files, false); err != nil {
		return err
	}
	for _, f := range files {
		if !f.Undone() {
			fmt.Fprintf(stderr, "restored: %s\n", termtext.OneLine(f.Path, termtext.MaxReport))
		}
	}
	app.NoteUnkept(stderr, r)
	return nil
}

// resumption returns the task that resumes a session.
func resumption(ctx context.Context, a *app.Worker, id, message string, assignment requests.Assignment, from beginning, stderr io.Writer) (*oneTask, error) {
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
	if from.step > 0 {
		if _, err := a.Records.Transcripts.ConversationTo(ctx, r.ID, from.step); err != nil {
			return nil, err
		}
	}
	resumed := control.Resumption{Record: r, FromStep: from.step, Prompt: assignment.Told(message), Assignment: assignment}
	if from.files {
		files, err := app.Snapshots(a.Workspace).Files(r.ID, from.step, nil)
		if err == nil {
			err = snapshot.Conflicts(files)
		}
		if err != nil {
			return nil, err
		}
		resumed.Opened = func(context.Context) error { return restore(files, r, stderr) }
	}
	return &oneTask{"worker sessions resume " + r.ID, func(ctx context.Context, root *session.Session) *taskt.Result {
		run := a.Tasks.Resume(ctx, root, resumed)
		<-run.Done()
		return run.Result()
	}}, nil
}

// AssignmentFlags are the flags that change what a session is to do.
func AssignmentFlags(cmd *cobra.Command, a *requests.Assignment) {
	cmd.Flags().StringVar(&a.Objective, "objective", "", "what SESSION is to do from now on, in place of its task")
	cmd.Flags().StringVar(&a.Role, "role", "", "as what SESSION is to work from now on")
}

package sessions

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/run"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/requests"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/control"
)

// operation is a command that makes one call of an operation of [control] about a
// session, and prints its answer.
type operation struct {
	name  string                                  // of the operation, such as task_send
	input func(args []string) map[string]any      // besides the session, from what follows it; nil means none
	json  string                                  // what --json prints, for its help
	print func(p commands, answer control.Answer) // nil means what the answer says, on stderr
}

// operationCommand completes the command of an operation.
func (p commands) operationCommand(cmd *cobra.Command, o operation) *cobra.Command {
	var asJSON bool
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.WithSessions(cmd.Context(), func(ctx context.Context, sessions *store.Store) error {
			var in map[string]any
			if o.input != nil {
				in = o.input(args[1:])
			}
			answer, err := p.control(ctx, sessions, o.name, args[:1], in)
			switch {
			case err != nil:
				return err
			case asJSON:
				return p.PrintJSON(answer, true)
			case o.print != nil:
				o.print(p, answer)
			default:
				fmt.Fprintln(p.Stderr, answer.Answer())
			}
			return nil
		})
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, o.json)
	return cmd
}

// control calls an operation on sessions; ids may be the starts of ids.
func (p commands) control(ctx context.Context, sessions *store.Store, operation string, ids []string, in map[string]any) (control.Answer, error) {
	return app.Control(ctx, sessions, "worker sessions "+strings.TrimPrefix(operation, "task_"), operation, ids, in)
}

func (p commands) resultCommand() *cobra.Command {
	var offset, limit int
	cmd := &cobra.Command{
		Use:   "result SESSION",
		Short: "Print what a subagent has answered",
		Long: `Prints the answer of SESSION (an id, or the start of one), a subagent that has ended, or
why it failed. --offset and --limit print a part of it; they count characters.
'worker sessions log' has the transcript.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.CompleteSessions(false),
	}
	cmd.Flags().IntVar(&offset, "offset", 0, "how many characters to pass over")
	cmd.Flags().IntVar(&limit, "limit", 1_000_000, "how many characters to print at most, up to 1,000,000")
	return p.operationCommand(cmd, operation{
		name: "task_result", json: "print the text and its place as JSON", print: commands.printPage,
		input: func([]string) map[string]any { return map[string]any{"offset": offset, "limit": limit} },
	})
}

// printPage prints a part of a session's answer.
func (p commands) printPage(answer control.Answer) {
	page := answer.(*control.Page)
	fmt.Fprintln(p.Stdout, termtext.Printable(page.Text))
	if page.NextOffset > 0 {
		fmt.Fprintf(p.Stderr, "characters %d to %d of %d: --offset %d goes on\n", page.Offset, page.NextOffset, page.Total, page.NextOffset)
	}
}

func (p commands) sendCommand() *cobra.Command {
	var interrupt bool
	var key string
	var assignment requests.Assignment
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
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: p.CompleteSessions(true),
	}
	cmd.Flags().BoolVar(&interrupt, "interrupt", false, "end the step that runs, and drop messages that are not read")
	cmd.Flags().StringVar(&key, "key", "", "of all calls with the same key SESSION gets one message")
	run.AssignmentFlags(cmd, &assignment)
	return p.operationCommand(cmd, operation{
		name: "task_send", json: "print the ids of the session and the message as JSON",
		input: func(message []string) map[string]any {
			return map[string]any{
				"message": strings.Join(message, ""), "interrupt": interrupt, "idempotencyKey": key,
				"objective": assignment.Objective, "role": assignment.Role,
			}
		},
	})
}

func (p commands) backgroundCommand() *cobra.Command {
	var command bool
	cmd := &cobra.Command{
		Use:   "background SESSION",
		Short: "Have a subagent that its caller waits for go on in the background",
		Long: `Has the call of task return that waits for SESSION (an id, or the start of one), in
whatever process it runs. The subagent goes on as one in the background: its caller is
told of its end by a message, and --background-timeout bounds it.

With --command it is the command of the shell that SESSION waits for which goes on, in the
background of SESSION: its model does other work, and is told of the command's end.

Exit status: 0 it runs in the background, 1 it has ended, or no call waits for it that
could return: that of 'worker task' waits to the end.`,
		Example: `  worker sessions background ses_4f2k
  worker sessions background --command ses_4f2k`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.CompleteSessions(true),
	}
	cmd.Flags().BoolVar(&command, "command", false, "move the command that SESSION waits for, and not SESSION")
	return p.operationCommand(cmd, operation{
		name: "task_background", json: "print the session's id and status as JSON",
		input: func([]string) map[string]any { return map[string]any{"command": command} },
	})
}

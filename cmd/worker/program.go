package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/settings"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/internal/termtext"
)

// The exit statuses.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitRefused     = 3
	exitInterrupted = 130
)

// program is the running program as a value, which tests start too.
type program struct {
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer
	environ   []string
	stdinTTY  bool     // stdin is a terminal
	outTerm   terminal // stdout, as a terminal
	errTerm   terminal // stderr, as a terminal
	live      *screen  // where a live line may stand; nil: nowhere
	oneOutput bool     // stdout and stderr lead to the same place

	settings settings.Settings
	log      *logFile                // of the state folder; nil: none
	abort    context.CancelCauseFunc // ends the program with a reason; set by run

	// asking is held by whoever writes to stderr for people: a question that is
	// open, or a line of progress.
	asking sync.Mutex
}

// exitError ends the program with a status; what there was to say has been said.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// usageError is a wrong use of the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// run runs a command line and returns the exit status.
func (p *program) run(ctx context.Context, args []string) int {
	root := p.rootCommand()
	root.SetArgs(args)
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	ctx, p.abort = context.WithCancelCause(ctx)
	defer p.abort(nil)
	err := root.ExecuteContext(ctx)
	var exit exitError
	switch {
	case errors.Is(context.Cause(ctx), eventbus.ErrLost): // all else follows from it
		p.complain(context.Cause(ctx))
		return exitFailed
	case err == nil:
		return exitDone
	case errors.As(err, &exit):
		return int(exit)
	case ctx.Err() != nil:
		fmt.Fprintln(p.stderr, "worker: interrupted")
		return exitInterrupted
	}
	p.complain(err)
	if errors.As(err, &usageError{}) {
		return exitUsage
	}
	return exitFailed
}

// complain says on stderr what has gone wrong, and what to do about it.
func (p *program) complain(err error) {
	fmt.Fprintf(p.stderr, "%s %s\n", p.errTerm.paint(red, "worker:"), termtext.Printable(plain(err)))
	p.advise(err)
}

// complainOnce is complain for an error that stdout has shown: where that is the
// same place, only what to do about it is left to say.
func (p *program) complainOnce(err error) {
	if p.oneOutput {
		p.advise(err)
		return
	}
	p.complain(err)
}

// advise says on stderr what to do about an error.
func (p *program) advise(err error) {
	for _, line := range p.advice(err) {
		fmt.Fprintf(p.stderr, "%s %s\n", p.errTerm.paint(dim, "worker:"), termtext.Printable(line))
	}
}

func (p *program) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "worker",
		Short: "Turns Markdown agent files into a task tool",
		Long: `worker loads the agent definitions of a repository (.agents/agents/*.md) and runs
them as subagents: each in a session of its own, behind a permission gate, with
its events, durable and in order, on the stream of the session that called it.`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if err := p.settings.Load(p.getenv); err != nil {
				return usageError{err}
			}
			return nil
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w%s (see '%s --help')", err, meantFlag(cmd, err), cmd.CommandPath())}
	})
	root.SetVersionTemplate("worker {{.Version}}\n")
	root.SetUsageFunc(printUsage)
	p.settings.Register(root.PersistentFlags())
	// It fails for a flag that is not there or has a function.
	_ = root.RegisterFlagCompletionFunc("model", p.completeModels)
	root.AddCommand(
		p.taskCommand(),
		p.runCommand(),
		p.mcpCommand(),
		p.agentsCommand(),
		p.permissionCommand(),
		p.approvalsCommand(),
		p.sessionsCommand(),
		p.workersCommand(),
		p.eventsCommand(),
		p.serveCommand(),
		versionCommand(),
		flagsTopic(root.PersistentFlags()),
	)
	return root
}

// group returns a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  usageArgs(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

// usageArgs makes the errors of an argument check errors of use.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{fmt.Errorf("%w%s (see '%s --help')", err, meantCommand(cmd, args), cmd.CommandPath())}
		}
		return nil
	}
}

func (p *program) getenv(name string) string {
	value := ""
	for _, kv := range p.environ { // the last one counts, as in os/exec
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			value = v
		}
	}
	return value
}

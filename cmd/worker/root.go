package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/exit"
	"github.com/agentworker/worker/cmd/worker/internal/usage"
	"github.com/agentworker/worker/eventbus"
)

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
	var status exit.Status
	switch {
	case errors.Is(context.Cause(ctx), eventbus.ErrLost): // all else follows from it
		p.complain(context.Cause(ctx))
		return int(exit.Failed)
	case err == nil:
		return int(exit.Done)
	case errors.As(err, &status):
		return int(status)
	case ctx.Err() != nil:
		fmt.Fprintln(p.stderr, "worker: interrupted")
		return int(exit.Interrupted)
	}
	p.complain(err)
	if exit.IsUsage(err) {
		return int(exit.WrongUse)
	}
	return int(exit.Failed)
}

// rootCommand returns the tree of all commands.
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
		Args:          usage.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if err := p.settings.Load(p.getenv); err != nil {
				return exit.Usage(err)
			}
			return nil
		},
	}
	root.SetFlagErrorFunc(usage.FlagError)
	root.SetVersionTemplate("worker {{.Version}}\n")
	p.settings.Register(root.PersistentFlags())
	settings := p.settings.Groups()
	root.SetUsageFunc(func(cmd *cobra.Command) error { return usage.Print(cmd, settings[0]) })
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { _ = usage.Help(cmd) }) // an error: nobody reads it
	// It fails for a flag that is not there or has a function.
	_ = root.RegisterFlagCompletionFunc("model", p.completeModels)
	root.AddCommand(
		p.taskCommand(),
		p.runCommand(),
		p.mcpCommand(),
		usage.Group("agents", "Look at the agents of this workspace, check and make agent files",
			p.agentsListCommand(), p.agentsShowCommand(), p.agentsLintCommand(), p.agentsSchemaCommand(), p.agentsNewCommand()),
		usage.Group("permission", "See what the permission rules say of tool calls",
			p.permissionEvalCommand(), p.permissionExplainCommand(), p.permissionLintCommand()),
		p.approvalsCommand(),
		usage.Group("sessions", "Look at the sessions of this workspace, wait for them, stop and delete them",
			p.sessionsListCommand(), p.sessionsShowCommand(), p.sessionsLogCommand(), p.sessionsStopCommand(),
			p.sessionsApplyCommand(), p.sessionsDiscardCommand(),
			p.sessionsWaitCommand(), p.sessionsResultCommand(), p.sessionsSummaryCommand(), p.sessionsSendCommand(), p.sessionsBackgroundCommand(), p.sessionsResumeCommand(), p.sessionsDeleteCommand()),
		p.topCommand(),
		p.workersCommand(),
		p.doctorCommand(),
		p.eventsCommand(),
		p.serveCommand(),
		p.pageCommand(),
		versionCommand(),
		usage.FlagsTopic(settings),
	)
	return root
}

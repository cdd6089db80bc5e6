package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/agents"
	"github.com/agentworker/worker/cmd/worker/internal/agenttest"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/audits"
	"github.com/agentworker/worker/cmd/worker/internal/ci"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/hookcmd"
	"github.com/agentworker/worker/cmd/worker/internal/lspcmd"
	"github.com/agentworker/worker/cmd/worker/internal/modelcmd"
	"github.com/agentworker/worker/cmd/worker/internal/permissions"
	"github.com/agentworker/worker/cmd/worker/internal/run"
	"github.com/agentworker/worker/cmd/worker/internal/sessions"
	"github.com/agentworker/worker/cmd/worker/internal/setup"
	"github.com/agentworker/worker/eventbus"
)

// program has the commands that have no package of their own.
type program struct{ *app.Program }

// run runs a command line and returns the exit status.
func (p *program) run(ctx context.Context, args []string) int {
	root := p.rootCommand()
	root.SetArgs(args)
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	ctx, p.Abort = context.WithCancelCause(ctx)
	defer p.Abort(nil)
	err := root.ExecuteContext(ctx)
	var status cli.Status
	switch {
	case storeIsGone(context.Cause(ctx)): // all else follows from it
		p.Complain(context.Cause(ctx))
		return int(cli.Failed)
	case err == nil:
		return int(cli.Done)
	case errors.As(err, &status):
		return int(status)
	case ctx.Err() != nil:
		fmt.Fprintln(p.Stderr, "worker: interrupted")
		return int(cli.Interrupted)
	}
	p.Complain(err)
	if cli.IsUsage(err) {
		return int(cli.WrongUse)
	}
	return int(cli.Failed)
}

// storeIsGone reports whether the program ended because it has no store any more.
func storeIsGone(why error) bool {
	return errors.Is(why, eventbus.ErrLost) || errors.Is(why, eventbus.ErrMoved)
}

// speaks reports whether a command speaks a protocol on stdout, which no log has.
func speaks(cmd *cobra.Command) bool { return cmd.Name() == "mcp" || cmd.Name() == "acp" }

// rootCommand returns the tree of all commands.
func (p *program) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "worker",
		Short: "Turns Markdown agent files into a task tool",
		Long: `worker loads the agent definitions of a repository (.agents/agents/*.md) and runs
them as subagents: each in a session of its own, behind a permission gate, with
its events, durable and in order, on the stream of the session that called it.`,
		Version:       app.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if p.Getenv("GITHUB_ACTIONS") == "true" && !speaks(cmd) {
				p.Stdout, p.Stderr = ci.Guard(p.Stdout), ci.Guard(p.Stderr)
			}
			if err := p.Settings.Load(p.Getenv); err != nil {
				return cli.Usage(err)
			}
			return nil
		},
	}
	root.SetFlagErrorFunc(cli.FlagError)
	p.Settings.Register(root.PersistentFlags())
	settings := p.Settings.Groups()
	root.SetUsageFunc(func(cmd *cobra.Command) error { return cli.PrintUsage(cmd, settings[0]) })
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { _ = cli.Help(cmd) }) // an error: nobody reads it
	cli.CompleteFlag(root, "model", p.CompleteModels)
	root.AddCommand(
		run.Task(p.Program),
		run.Run(p.Program),
		p.mcpCommand(),
		p.acpCommand(),
		agents.Commands(p.Program),
		agents.SkillCommands(p.Program),
		agenttest.Command(p.Program),
		sessions.Replay(p.Program),
		permissions.Commands(p.Program),
		permissions.Trust(p.Program),
		hookcmd.Commands(p.Program),
		lspcmd.Commands(p.Program),
		modelcmd.Commands(p.Program),
		p.approvalsCommand(),
		audits.Commands(p.Program),
		sessions.Commands(p.Program),
		p.topCommand(),
		p.workersCommand(),
		setup.Doctor(p.Program, defaultListen),
		p.eventsCommand(),
		p.serveCommand(),
		p.pageCommand(),
		p.tokensCommand(),
		setup.Init(p.Program),
		setup.Man(p.Program),
		setup.Version(p.Program),
		cli.FlagsTopic(settings),
	)
	cli.Finish(root)
	return root
}

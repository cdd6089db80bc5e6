package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/servers"
	"github.com/agentworker/worker/cmd/worker/internal/settings"
	"github.com/agentworker/worker/cmd/worker/internal/setup"
	"github.com/agentworker/worker/frontdoor/mcpserver"
	"github.com/agentworker/worker/model/hostmodel"
	"github.com/agentworker/worker/policy"
	"github.com/agentworker/worker/session"
)

func (p *program) mcpCommand() *cobra.Command {
	var page string
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the task tool to an MCP host, on stdin and stdout",
		Long: `Serves the tools task, task_list, task_wait, task_result, task_send, task_stop,
task_background and agents_list over MCP on stdin and stdout. A host starts this command:
docs/guide/hosts.md says how each is told to. It ends with its stdin, and what its
subagents run ends with it.

SIGINT or SIGTERM ends it in order, too. No more calls begin. For up to --drain it waits
for the calls that run and for the steps of subagents in the background. These go on in
the next worker of the workspace that serves, within an hour.

What the permission rules ask about is put to the host's user, where the host has forms
for questions. It waits for an answer there or by 'worker approvals' in a terminal, for up
to --approval-timeout (10m), and is then refused with the rule that would allow it.`,
		Example: `  claude mcp add worker -- worker mcp
  worker mcp --page=127.0.0.1:7433`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.mcp(cmd.Context(), page, wait) },
	}
	cmd.AddCommand(setup.Install(p.Program), setup.Uninstall(p.Program), servers.Commands(p.Program))
	cmd.Flags().StringVar(&page, "page", "", "serve the live page too, on this loopback address; alone: any free port")
	cmd.Flags().Lookup("page").NoOptDefVal = "127.0.0.1:0"
	registerDrain(cmd.Flags(), &wait, hostPatience)
	return cmd
}

// hostPatience is how long calls have after a signal. The host's SDK kills what has not ended 2 s
// after its SIGTERM.
const hostPatience = time.Second

func (p *program) mcp(ctx context.Context, page string, wait time.Duration) error {
	if err := checkDrain(wait); err != nil {
		return err
	}
	doors := []string{policy.DoorMCP}
	if page != "" {
		doors = append(doors, policy.DoorPage, policy.DoorHTTP)
	}
	if err := errors.Join(p.AllowDoors(doors...), p.allowHost()); err != nil {
		return err
	}
	return p.onStdio(ctx, "an MCP server, which a host starts", true, func(a *app.Worker, in io.ReadCloser) (err error) {
		ctx, end := drained(ctx, p, a, wait)
		defer end()
		where := func() string { return "" }
		if page != "" {
			ctx, shut := context.WithCancel(ctx)
			web, failed := p.startPage(ctx, a, page)
			if failed != nil {
				shut()
				return failed
			}
			defer func() {
				shut()
				err = errors.Join(err, web.Wait())
			}()
			where = web.URL
		}
		return p.mcpServer(a, where).Serve(ctx, &mcpserver.Stdio{In: in, Out: p.Stdout, Logger: p.Logger()})
	})
}

// onStdio serves one client on stdin and stdout. what names the command to a user who
// starts it in a terminal; stays is as in [app.Program.Serve].
func (p *program) onStdio(ctx context.Context, what string, stays bool, do func(*app.Worker, io.ReadCloser) error) error {
	// No signal kills this process before its children have ended. A write to a host that
	// has exited fails and is no SIGPIPE. A second signal to end may come from the host,
	// after ^C in a terminal has reached both.
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGPIPE)
	defer signal.Stop(ignored)
	p.Patient.Store(true)

	return p.Serve(ctx, stays, func(a *app.Worker) error {
		if p.StdinTTY {
			fmt.Fprintf(p.Stderr, "worker: this is %s; it waits for its messages on stdin (Ctrl-D ends it)\n", what)
		}
		in, ok := p.Stdin.(io.ReadCloser)
		if !ok {
			in = io.NopCloser(p.Stdin)
		}
		return do(a, in)
	})
}

// mcpServer returns the MCP server of a worker, for one host or many. page returns the
// address of the page, or an empty text.
func (p *program) mcpServer(a *app.Worker, page func() string) *mcpserver.Server {
	m := p.Settings.MCP
	return mcpserver.New(mcpserver.Options{
		Tasks: a.Tasks, Bus: a.Bus, Sessions: a.Sessions.Store(), Logger: p.Logger(),
		CallLimit: m.CallLimit, ResultLimit: m.ResultLimit, ReadOnly: m.ReadOnly, ToolPerAgent: m.PerAgent, Page: page, HostModel: p.ofHost(),
		CancelGrace: m.CancelGrace, Kept: p.Settings.Retained().Age,
	})
}

// allowHost returns an error if --model names the model of a host, and the policy forbids
// that.
func (p *program) allowHost() error {
	if p.ofHost() == nil {
		return nil
	}
	return p.AllowModel(settings.HostModel)
}

// ofHost makes the model of a host, if --model names that; else it is nil.
func (p *program) ofHost() func(mcpserver.Sampler) session.Model {
	if name, err := p.Models().Resolve(p.Settings.Model); err != nil || name != settings.HostModel {
		return nil
	}
	return func(ask mcpserver.Sampler) session.Model { return hostmodel.New(hostmodel.Ask(ask)) }
}

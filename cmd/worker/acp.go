package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/settings"
	"github.com/agentworker/worker/frontdoor/acpserver"
	"github.com/agentworker/worker/policy"
	"github.com/agentworker/worker/taskt/conversation"
	"github.com/agentworker/worker/tool/mcpclient"
)

// acpOptions are the flags of acp.
type acpOptions struct {
	agent     string
	ignoreMCP bool

	serverHosts []string
}

func (p *program) acpCommand() *cobra.Command {
	var opts acpOptions
	cmd := &cobra.Command{
		Use:   "acp",
		Short: "Serve primary agents to an editor over ACP, on stdin and stdout",
		Long: `Serves the primary agents of this workspace over ACP, the Agent Client Protocol, on
stdin and stdout. An editor starts this command, in the folder of a project:
docs/guide/editors.md says how each is told to. It ends with its stdin, or when it gets
SIGTERM, and what its sessions run ends with it. Detached subagents go on in the next
'worker serve' or 'worker mcp'.

What the permission rules ask about is put to the editor's user, also for subagents. It
waits for an answer there or by 'worker approvals' in a terminal, for up to
--approval-timeout (10m), and is then refused.`,
		Example: "  worker acp\n  worker acp --agent build --model sonnet",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.acp(cmd.Context(), opts) },
	}
	cmd.Flags().StringVar(&opts.agent, "agent", "", "the primary agent with whom sessions begin (default: a general one)")
	cli.CompleteFlag(cmd, "agent", p.CompleteAgents(func(d *agentdefs.Definition) bool { return d.Mode != agentdefs.Subagent }))
	cmd.Flags().BoolVar(&opts.ignoreMCP, "ignore-mcp-servers", false, "open sessions for which the editor names MCP servers, without these")
	cmd.Flags().StringArrayVar(&opts.serverHosts, "server-host", nil, "a host that a program among the editor's MCP servers may reach: NAME=HOST, NAME=HOST:PORT or NAME=*.DOMAIN (repeatable)")
	return cmd
}

func (p *program) acp(ctx context.Context, opts acpOptions) error {
	if err := p.AllowDoors(policy.DoorACP); err != nil {
		return err
	}
	if p.ofHost() != nil {
		return cli.Usage(errors.New("--model host: an editor has no model for agents; name another one"))
	}
	hosts, err := hostsOfServers(opts.serverHosts)
	if err != nil {
		return cli.Usage(err)
	}
	return p.onStdio(ctx, "an ACP agent, which an editor starts", false, func(a *app.Worker, in io.ReadCloser) error {
		if _, err := conversation.Find(a.Agents.Snapshot(), opts.agent); err != nil {
			return cli.Usage(err)
		}
		err := acpserver.New(acpserver.Options{
			Tasks: a.Tasks, Agents: a.Agents, Sessions: a.Sessions.Store(), Bus: a.Bus, Root: a.Workspace.Root, Logger: p.Logger(),
			Agent: opts.agent, Version: app.Version(), IgnoreMCP: opts.ignoreMCP, ServerHosts: hosts, Explain: p.Advised,
			Models: p.modelChoices(),
			CheckModel: func(name string) error {
				_, err := p.Models().Get(name)
				return err
			},
		}).Serve(ctx, in, p.Stdout)
		app.HandOverAtEnd(p.Program, a)
		return err
	})
}

// hostsOfServers returns the hosts of --server-host by the names of the servers.
func hostsOfServers(flags []string) (map[string][]string, error) {
	hosts := map[string][]string{}
	for _, text := range flags {
		name, host, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--server-host %q: want NAME=HOST", text)
		}
		if err := mcpclient.CheckHost(host); err != nil {
			return nil, fmt.Errorf("--server-host %s: %w", text, err)
		}
		hosts[name] = append(hosts[name], host)
	}
	return hosts, nil
}

// modelChoices are the names of the available models, for a user to choose from.
func (p *program) modelChoices() []string {
	var names []string
	for _, aliases := range []map[string]string{p.Settings.ModelAliases, settings.BuiltinAliases} {
		for _, name := range slices.Sorted(maps.Keys(aliases)) {
			if _, err := p.Models().Get(name); err == nil && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

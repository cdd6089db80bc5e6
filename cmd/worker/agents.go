package main

import (
	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/termtext"
)

func (p *program) agentsCommand() *cobra.Command {
	return group("agents", "Look at the agents of this workspace, check and make agent files",
		p.agentsListCommand(), p.agentsShowCommand(), p.agentsLintCommand(), p.agentsSchemaCommand(), p.agentsNewCommand())
}

func (p *program) loadAgents() (*agentdefs.Snapshot, error) {
	ws, err := p.workspace()
	if err != nil {
		return nil, err
	}
	return agentdefs.Load(ws.Root, p.agentOptions(ws))
}

func source(d *agentdefs.Definition) string {
	if d.BuiltIn {
		return "built in"
	}
	return d.File
}

// completeAgents completes, for the shell, the names of those agents that want
// accepts.
func (p *program) completeAgents(want func(*agentdefs.Definition) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 || p.settings.Load(p.getenv) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return p.agentNames(want), cobra.ShellCompDirectiveNoFileComp
	}
}

func (p *program) agentNames(want func(*agentdefs.Definition) bool) []string {
	snapshot, err := p.loadAgents()
	if err != nil {
		return nil
	}
	var names []string
	for _, d := range snapshot.Agents() {
		if want(d) {
			names = append(names, d.Name+"\t"+termtext.OneLine(d.Description, 80))
		}
	}
	return names
}

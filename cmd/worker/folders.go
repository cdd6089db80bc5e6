package main

import (
	"path/filepath"
	"slices"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/tool"
)

// agentOptions says where the agents of a workspace come from: besides its own
// folder the user's, which is below their settings, and those of --agents-dir.
func (p *program) agentOptions(ws *workspace.Workspace) *agentdefs.Options {
	return &agentdefs.Options{
		Nesting:    p.settings.MaxDepth > 1,
		Home:       ws.Home,
		UserDir:    filepath.Join(ws.ConfigDir, "agents"),
		Dirs:       p.settings.AgentsDirs,
		From:       p.settings.AgentsFrom,
		ToolsHome:  ws.Home,
		KnownModel: p.models().known,
		Tools:      toolNames(),
		Logger:     p.logger(),
	}
}

// sharedAgents are the folders of agent files that serve other workspaces too.
func (p *program) sharedAgents(ws *workspace.Workspace) []string {
	dirs := slices.Clone([]string(p.settings.AgentsDirs))
	if ws.Home != "" && (slices.Contains(p.settings.AgentsFrom, "all") || slices.Contains(p.settings.AgentsFrom, "claude-user")) {
		dirs = append(dirs, filepath.Join(ws.Home, ".claude", "agents"))
	}
	return dirs
}

// toolNames are the tools that agents of this process have, besides task. What
// they work in makes no difference to their names.
func toolNames() []string {
	var names []string
	for _, t := range tool.Builtin(new(tool.Workspace)) {
		names = append(names, t.Spec().Name)
	}
	return names
}

package app

import (
	"path/filepath"
	"slices"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/hooks"
	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/internal/workspace"
)

// NewHooks returns the hooks of a workspace, with agents those of their files, too. The caller
// closes them.
func NewHooks(p *Program, ws *workspace.Workspace, agents func() *agentdefs.Snapshot) (*hooks.Runner, error) {
	r, err := hooks.New(hooks.Options{
		Root:   ws.Root,
		Own:    p.Settings.Hooks,
		Files:  hookconfig.Files(ws.Root, ws.Home, p.Settings.HooksFrom),
		Agents: func() []*hookconfig.Hook { return hooksOf(agents()) },
		Trust:  HookTrust(ws),
		Always: p.Settings.TrustRepository,
		Shell:  p.Shell(),
		Env:    p.withoutKeys(),
		Lookup: func(name string) (string, bool) { return variable(p.Environ, name) },
		Logger: p.Logger(),
	})
	if err != nil {
		r.Close()
		return nil, cli.Usage(err)
	}
	return r, nil
}

// HookTrust returns the hooks of the repository that a person trusts.
func HookTrust(ws *workspace.Workspace) *hooks.Trust {
	return hooks.OpenTrust(filepath.Join(ws.StateDir, "hooks-trusted.json"))
}

// hooksOf returns the hooks of agent files.
func hooksOf(agents *agentdefs.Snapshot) (all []*hookconfig.Hook) {
	for _, def := range agents.Agents() {
		all = append(all, def.Hooks...)
	}
	return all
}

// hookFiles are the files and folders of hooks, and the scripts of the workspace that hooks name.
// No agent writes them.
func hookFiles(p *Program, ws *workspace.Workspace) []string {
	files := []string{filepath.Join(ws.Root, ".claude", "hooks")}
	for _, f := range hookconfig.Files(ws.Root, "", nil) {
		if dir, last := filepath.Split(f.Path); last == "*.json" {
			f.Path = filepath.Clean(dir)
		}
		files = append(files, f.Path)
	}
	all := slices.Concat(p.Settings.Hooks, p.agentHooks)
	for _, f := range hookconfig.Expand(hookconfig.Files(ws.Root, ws.Home, p.Settings.HooksFrom)) {
		hooks, _ := f.Read() // what can't be read runs nothing
		all = append(all, hooks...)
	}
	for _, h := range all {
		files = append(files, h.Scripts(ws.Root)...)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

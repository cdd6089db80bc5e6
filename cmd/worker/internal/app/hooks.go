package app

import (
	"path/filepath"
	"slices"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/hooks"
	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/internal/workspace"
)

// NewHooks returns the hooks of a workspace. The caller closes them.
func NewHooks(p *Program, ws *workspace.Workspace) (*hooks.Runner, error) {
	r, err := hooks.New(hooks.Options{
		Root:   ws.Root,
		Own:    p.Settings.Hooks,
		Files:  hookconfig.Files(ws.Root, ws.Home, p.Settings.HooksFrom),
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

// hookFiles are the files and folders of hooks, and the scripts that hooks name. No agent writes
// them.
func hookFiles(ws *workspace.Workspace) []string {
	files := []string{filepath.Join(ws.Root, ".claude", "hooks")}
	all := hookconfig.Files(ws.Root, "", nil)
	for _, f := range all {
		if dir, last := filepath.Split(f.Path); last == "*.json" {
			f.Path = filepath.Clean(dir)
		}
		files = append(files, f.Path)
	}
	for _, f := range hookconfig.Expand(all) {
		hooks, _ := f.Read() // what can't be read runs nothing
		for _, h := range hooks {
			files = append(files, h.Scripts(ws.Root)...)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

package app

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/commands"
	"github.com/agentworker/worker/tool/lsp"
	"github.com/agentworker/worker/tool/web"
)

// BuiltinTools returns the built-in tools for files, commands, language servers and the web. Commands
// begin in dir: see [tool.BuiltinIn]. place has the language servers for the files.
func BuiltinTools(p *Program, files *tool.Workspace, place *lsp.Place, dir string) []tool.Tool {
	builtin := tool.BuiltinIn(files, dir)
	return slices.Concat(place.Watch(builtin), place.Tools(), commands.Tools(builtin, files.Paths()), web.Tools(web.Options{Version: Version(), Search: p.Settings.WebSearch(), Robots: p.Settings.WebRobots()}))
}

// NewLanguageServers returns the language servers of a workspace. Nothing is started.
func NewLanguageServers(p *Program, ws *workspace.Workspace) *lsp.Servers {
	return lsp.New(lsp.Options{
		Root:     ws.Root,
		Own:      p.Settings.LanguageServers,
		Files:    lsp.Files(ws.Root),
		Trust:    LanguageTrust(ws),
		Always:   p.Settings.TrustRepository,
		Policy:   func(s *lsp.Server) error { return allowsLanguageServer(p, s) },
		Off:      p.Settings.NoLanguageServers,
		Sandbox:  sandbox.Options{Mode: p.ToolOptions(ws).Sandbox.Mode, Dir: sandboxDir(ws)},
		CacheDir: serverCache("lsp"),
		Version:  Version(),
		Logger:   p.Logger(),
	})
}

// LanguageTrust returns the language servers of the repository that a person trusts.
func LanguageTrust(ws *workspace.Workspace) *lsp.Trust {
	return lsp.OpenTrust(filepath.Join(ws.StateDir, "lsp-trusted.json"))
}

// allowsLanguageServer returns an error if the policy forbids a language server. The command of one
// that was found in PATH is the name that was looked for.
func allowsLanguageServer(p *Program, s *lsp.Server) error {
	now, err := currentPolicy(p)
	if err != nil {
		return err
	}
	return now.AllowsLanguageServer(s.Name, s.Asked())
}

// LanguageServerStatus is a language server, and why a session of the workspace can't run it.
type LanguageServerStatus struct {
	lsp.Status
	Wrong error // nil: a session can
}

// LanguageServers returns the language servers of a workspace, and whether its rules and the sandbox let
// them run. Nothing is started. The error says what can't be read.
func LanguageServers(p *Program, ws *workspace.Workspace) (all []LanguageServerStatus, err error) {
	rules, err := listingRules(p, ws)
	if err != nil {
		return nil, err
	}
	files, err := tool.OpenWorkspace(ws.Root, p.ToolOptions(ws))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	servers := NewLanguageServers(p, ws)
	place := servers.In(files)
	found, err := servers.All(p.Environ)
	for _, st := range found {
		s := LanguageServerStatus{Status: st}
		if st.State == lsp.Ready {
			s.Wrong = place.Try(st.Server, rules)
		}
		all = append(all, s)
	}
	return all, err
}

package app

import (
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
	return slices.Concat(place.Watch(builtin), place.Tools(), commands.Tools(builtin, files.Paths()), web.Tools(web.Options{Version: Version(), Search: p.Settings.WebSearch()}))
}

// NewLanguageServers returns the language servers of a workspace. Nothing is started.
func NewLanguageServers(p *Program, ws *workspace.Workspace) *lsp.Servers {
	return lsp.New(lsp.Options{
		Root:     ws.Root,
		Own:      p.Settings.LanguageServers,
		Files:    lsp.Files(ws.Root),
		Trust:    LanguageTrust(ws),
		Always:   p.Settings.TrustRepository,
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

package app

import (
	"path/filepath"

	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool/lsp"
)

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

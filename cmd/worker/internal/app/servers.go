package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/policy"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool/lsp"
	"github.com/agentworker/worker/tool/mcpclient"
)

// NewServers returns the MCP servers of a workspace, whose tools agents have. Nothing is
// started.
func NewServers(p *Program, ws *workspace.Workspace) *mcpclient.Servers {
	options := p.ToolOptions(ws)
	return mcpclient.New(mcpclient.Options{
		Own:      p.Settings.MCPServers,
		Files:    mcpconfig.Files(ws.Root, ws.Home, p.Settings.MCPFrom),
		Root:     ws.Root,
		Trust:    ServerTrust(p, ws),
		Always:   p.Settings.TrustRepository,
		Policy:   func(s *mcpconfig.Server) error { return allowsServer(p, s) },
		Rules:    func() (*permission.Layers, error) { return listingRules(p, ws) },
		Lookup:   func(name string) (string, bool) { return variable(p.Environ, name) },
		StateDir: ws.StateDir,
		CacheDir: serverCache("mcp"),
		Sandbox:  sandbox.Options{Mode: options.Sandbox.Mode, Dir: sandboxDir(ws)},
		Version:  Version(),
		Logger:   p.Logger(),
	})
}

// ServerTrust returns the MCP servers of the repository that a person trusts.
func ServerTrust(p *Program, ws *workspace.Workspace) *mcpclient.Trust {
	return mcpclient.OpenTrust(filepath.Join(ws.StateDir, "mcp-trusted.json"), ws.Root, func(name string) (string, bool) { return variable(p.Environ, name) })
}

// serverConfigs are the files of the workspace that may name MCP servers and language servers, whether
// or not this worker reads them: another one may. No agent writes them.
func serverConfigs(ws *workspace.Workspace) (files []string) {
	for _, f := range mcpconfig.Files(ws.Root, "", []string{"all"}) {
		files = append(files, f.Path)
	}
	for _, f := range lsp.Files(ws.Root) {
		files = append(files, f.Path)
	}
	return files
}

// serverFiles are the files of the workspace that MCP servers run with more than agents have, by their
// paths there and by those in a worktree. No agent writes them.
func serverFiles(p *Program, ws *workspace.Workspace) (files []string) {
	all := slices.Concat(p.Settings.MCPServers, p.agentServers)
	for _, f := range mcpconfig.Files(ws.Root, ws.Home, p.Settings.MCPFrom) {
		servers, _ := f.Read() // what can't be read runs nothing
		all = append(all, servers...)
	}
	trust := ServerTrust(p, ws)
	for _, s := range all {
		for _, file := range trust.Protected(s) {
			files = append(files, file)
			if rel, err := filepath.Rel(ws.Root, file); err == nil {
				files = append(files, rel)
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// serversOf returns the servers of agent files.
func serversOf(agents *agentdefs.Snapshot) (all []*mcpconfig.Server) {
	for _, def := range agents.Agents() {
		if def.Servers != nil {
			all = append(all, def.Servers.Inline...)
		}
	}
	return all
}

// sandboxDir is the folder for what sandboxes keep while they run.
func sandboxDir(ws *workspace.Workspace) string { return filepath.Join(ws.StateDir, "sandbox") }

// serverCache returns the folder for what servers of a kind keep; empty means there is none.
func serverCache(kind string) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "agentworker", kind)
}

// currentPolicy returns what an administrator forbids now.
func currentPolicy(p *Program) (*policy.Policy, error) {
	store, err := p.OpenPolicy()
	if err != nil {
		return nil, err
	}
	return store.Current()
}

// allowsServer returns an error if the policy forbids an MCP server.
func allowsServer(p *Program, s *mcpconfig.Server) error {
	now, err := currentPolicy(p)
	if err != nil {
		return err
	}
	var argv []string
	if s.Transport == mcpconfig.Stdio {
		argv = append([]string{s.Command}, s.Args...)
	}
	return now.AllowsServer(s.Name, argv, s.URL)
}

// listingRules are the rules by which an MCP server runs that is only asked for its tools: it
// writes nothing.
func listingRules(p *Program, ws *workspace.Workspace) (*permission.Layers, error) {
	store, err := p.OpenPolicy()
	if err != nil {
		return nil, err
	}
	now, err := store.Current()
	if err != nil {
		return nil, err
	}
	rules, err := staticRulesOf(p, ws)
	if err != nil {
		return nil, err
	}
	static, err := rules.Rules()
	if err != nil {
		return nil, err
	}
	others, granted, err := NewSettingsRules(p, ws, nil).Rules()
	if err != nil {
		return nil, err
	}
	who := permission.Who{Unattended: true}
	own, err := permission.NewRuleset(slices.Concat(p.OwnRules(ws), []permission.Rule{noWriting(toolcatalog.WriteFile), noWriting(toolcatalog.EditFile)})...)
	if err != nil {
		return nil, err
	}
	return &permission.Layers{Policies: now.Rules(who), Settings: others, Granted: granted, Agents: []*permission.Ruleset{own}, Static: static.For(who), Defaults: permission.Defaults()}, nil
}

func noWriting(name string) permission.Rule {
	return permission.Rule{Tool: name, Pattern: "*", Action: permission.Deny, Source: permission.Source{File: "built in"}}
}

// variable returns a variable of an environment.
func variable(environ []string, name string) (value string, set bool) {
	for _, e := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

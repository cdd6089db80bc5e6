package app

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/skills"
	"github.com/agentworker/worker/internal/snapshot"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

// RulesFile returns where the static rules of a workspace are.
func RulesFile(ws *workspace.Workspace) string {
	return filepath.Join(ws.StateDir, "permissions.jsonc")
}

// OwnRules are the rules that apply after every agent's own. No file can lift them.
func (p *Program) OwnRules(ws *workspace.Workspace) []permission.Rule {
	_, shared := agentSources(p, ws).Places()
	rules := ownFolders(ws, shared, p.policyFiles(), hookFiles(p, ws), serverFiles(p, ws))
	for _, pattern := range below(p.Settings.KeyFiles()...) {
		rules = append(rules, permission.Rule{
			Tool: "*", Pattern: pattern, Action: permission.Deny, Source: permission.Source{File: "a key file of the worker"}, Own: true,
		})
	}
	return rules
}

// ownFolders are the rules that keep agents out of the worker's own state and settings.
// With access to them an agent could give itself what the rules deny.
//
// No file tool writes to git's own folder, where a file can be a program that the user's
// next git command runs. The same holds for shared, the folders of agent files that serve
// other workspaces too, for policyFiles, hookFiles and serverFiles.
func ownFolders(ws *workspace.Workspace, shared, policyFiles, hookFiles, serverFiles []string) []permission.Rule {
	var rules []permission.Rule
	deny := func(source string, patterns []string, tools ...string) {
		for _, name := range tools {
			for _, pattern := range patterns {
				rules = append(rules, permission.Rule{
					Tool: name, Pattern: pattern, Action: permission.Deny, Source: permission.Source{File: source}, Own: true,
				})
			}
		}
	}
	deny("git's own folder", []string{".git", ".git/**", "**/.git", "**/.git/**"}, toolcatalog.Writers...)
	deny("the agent files of --agents-dir and of your home folder", below(shared...), toolcatalog.Writers...)
	deny("the policy", below(policyFiles...), toolcatalog.Writers...)
	deny("the repository's own rules", below(RepositoryFile(ws)), toolcatalog.Writers...)
	deny("the repository's servers", below(serverConfigs(ws)...), toolcatalog.Writers...)
	deny("rules in the settings of other programs", below(settingsPaths(ws)...), toolcatalog.Writers...)
	deny("what MCP servers run with more than agents have", below(serverFiles...), toolcatalog.Writers...)
	deny("the repository's hooks", below(hookFiles...), toolcatalog.Writers...)
	deny("the worker's own folders", below(ws.StateDir, ws.StateHome, ws.ConfigDir), "*")
	return rules
}

// Snapshots are what the files of a workspace were before sessions changed them.
func Snapshots(ws *workspace.Workspace) *snapshot.Store {
	return snapshot.New(filepath.Join(ws.StateDir, "snapshots"))
}

// NoteUnkept says that commands of a session may have changed files, of which nothing is kept.
func NoteUnkept(w io.Writer, r *record.Record) {
	if n := r.Work.Untold; n > 0 {
		fmt.Fprintf(w, "note: %s of %s may have changed files, too: nothing is kept of that, and it is not undone\n", termtext.Plural(n, "call"), r.ID)
	}
}

// KeepIn returns what keeps the files of file tools in a store.
func KeepIn(store *snapshot.Store) func(tool.Kept) error {
	return func(k tool.Kept) error {
		return store.Keep(k.SessionID, snapshot.Change{
			Time: time.Now().UTC(), Step: k.Step, Root: k.Root, Path: k.Path, Before: k.Before, After: k.After, Mode: k.Mode,
			Lost: k.Before != "" && k.Content == nil,
		}, k.Content)
	}
}

// Shell returns the path of the shell that runs commands; empty means there is none.
func (p *Program) Shell() string { return cmp.Or(p.Settings.Shell, tool.DefaultShell()) }

// ToolOptions say how the built-in tools work in a workspace: which of the
// worker's own folders no command sees, and which none writes.
func (p *Program) ToolOptions(ws *workspace.Workspace) *tool.Options {
	anywhere, shared := agentSources(p, ws).Places()
	folders := slices.Concat(anywhere, shared, namedAgentFiles(p, ws), skills.WorkspaceFolders, skills.UserFolders(ws.Home))
	return &tool.Options{
		Shell:   p.Shell(),
		Env:     p.withoutKeys(),
		KeepEnv: p.Settings.Sandbox.KeepEnv,
		Home:    ws.Home,
		Keep:    KeepIn(Snapshots(ws)),
		AgentFiles: tool.AgentFiles{
			Folders: folders,
			Change: func(file string, before, after []byte) string {
				if slices.ContainsFunc(skills.WorkspaceFolders, func(dir string) bool { return strings.HasPrefix(file, dir+"/") }) {
					return "it belongs to a skill, whose text agents follow"
				}
				return agentdefs.RightsChange(file, before, after, ws.Home)
			},
		},
		Sandbox: tool.SandboxOptions{
			Mode:      p.Settings.Sandbox.Mode,
			Folders:   append(userSkills(ws), p.Settings.Sandbox.Folders...),
			Protected: slices.Concat(folders, p.policyFiles(), []string{RepositoryFile(ws), filepath.Join(ws.Root, ".agents", "tests")}, serverConfigs(ws), hookFiles(p, ws), serverFiles(p, ws), settingsPaths(ws)),
			Hidden:    slices.Concat([]string{ws.StateDir, ws.StateHome, ws.ConfigDir}, p.Settings.KeyFiles()),
		},
	}
}

// userSkills are the folders of the user's skills: commands may read them.
func userSkills(ws *workspace.Workspace) (folders []sandbox.Folder) {
	for _, dir := range skills.UserFolders(ws.Home) {
		folders = append(folders, sandbox.Folder{Path: dir, Access: sandbox.Read})
	}
	return folders
}

// withoutKeys returns the environment without the variables that settings say hold secrets,
// whatever their names look like.
func (p *Program) withoutKeys() []string {
	hidden := p.Settings.Secret()
	return slices.DeleteFunc(slices.Clone(p.Environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(hidden, name)
	})
}

// below returns the patterns of folders and of everything below them, by their given names
// and by their real ones.
func below(dirs ...string) []string {
	var patterns []string
	for _, dir := range dirs {
		names := []string{dir}
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
			names = append(names, real)
		}
		for _, name := range names {
			patterns = append(patterns, glob.Quote(name), glob.Quote(name)+"/**")
		}
	}
	return patterns
}

package app

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/policy"
)

// LoadAgents reads the agents of the workspace once.
func (p *Program) LoadAgents() (*agentdefs.Snapshot, error) {
	ws, err := p.Workspace()
	if err != nil {
		return nil, err
	}
	opts, err := p.AgentOptions(ws)
	if err != nil {
		return nil, err
	}
	return agentdefs.Load(ws.Root, opts)
}

// AgentOptions says where the agents of a workspace come from: its own folder, the user's
// below their settings, and --agents-dir. What a policy forbids is left out.
func (p *Program) AgentOptions(ws *workspace.Workspace) (*agentdefs.Options, error) {
	if _, err := p.OpenPolicy(); err != nil {
		return nil, err
	}
	known := p.Models().Known
	if p.Overrides.Model != nil {
		known = func(string) bool { return true }
	}
	opts := &agentdefs.Options{
		Nesting:    p.Settings.MaxDepth > 1,
		MaxSteps:   p.Settings.MaxSteps,
		Home:       ws.Home,
		UserDir:    filepath.Join(ws.ConfigDir, "agents"),
		Dirs:       p.Settings.AgentsDirs,
		From:       p.Settings.AgentsFrom,
		ToolsHome:  ws.Home,
		KnownModel: known,
		Tools:      toolcatalog.Names(func(t toolcatalog.Tool) bool { return !t.Own && !t.Reserved && t.Name != toolcatalog.Task }),
		Logger:     p.Logger(),
	}
	for _, unread := range p.above.unread {
		switch unread.Name {
		case policy.Workspace:
			opts.WithoutWorkspace = unread.Error()
		case policy.User:
			opts.UserDir = ""
		}
	}
	return opts, nil
}

// SharedAgents are the folders of agent files that serve other workspaces too.
func (p *Program) SharedAgents(ws *workspace.Workspace) []string {
	dirs := slices.Clone(p.Settings.AgentsDirs)
	if ws.Home != "" && (slices.Contains(p.Settings.AgentsFrom, "all") || slices.Contains(p.Settings.AgentsFrom, "claude-user")) {
		dirs = append(dirs, filepath.Join(ws.Home, ".claude", "agents"))
	}
	return dirs
}

// ReportAgent prints on stderr the diagnostics of the agent that is about to run, or of the
// unserved file with its name. Diagnostics of others are counted in one line.
func (p *Program) ReportAgent(snapshot *agentdefs.Snapshot, def *agentdefs.Definition, name string) {
	file := ""
	if def != nil {
		file = def.File
	} else {
		for _, u := range snapshot.Unserved() {
			if strings.EqualFold(u.Name, name) {
				file = u.File
			}
		}
	}
	files := make(map[string]bool)
	wrong := 0
	for _, d := range snapshot.Diagnostics() {
		switch {
		case d.Severity == agentdefs.Information:
		case d.File == file:
			fmt.Fprintln(p.Stderr, termtext.OneLine(d.String(), 2000))
		default:
			wrong++
			files[d.File] = true
		}
	}
	if wrong > 0 {
		fmt.Fprintf(p.Stderr, "%s in %s of other agents: see 'worker agents lint'\n", termtext.Plural(wrong, "problem"), termtext.Plural(len(files), "file"))
	}
	if OnlyBuiltIn(snapshot) {
		p.ReportUnread(snapshot)
	}
}

// maxReported is how many findings a command reports that is about something else.
const maxReported = 2

// ReportDiagnostics prints on stderr what is wrong with agent files: up to two findings, else
// the gravest one and how many more 'worker agents lint' has.
func (p *Program) ReportDiagnostics(snapshot *agentdefs.Snapshot) {
	var wrong []agentdefs.Diagnostic
	files := make(map[string]bool)
	for _, d := range snapshot.Diagnostics() {
		if d.Severity != agentdefs.Information {
			wrong = append(wrong, d)
			files[d.File] = true
		}
	}
	slices.SortStableFunc(wrong, func(a, b agentdefs.Diagnostic) int { return cmp.Compare(rank(a), rank(b)) })
	shown := wrong
	if len(wrong) > maxReported {
		shown = wrong[:maxReported-1]
	}
	for _, d := range shown {
		fmt.Fprintln(p.Stderr, termtext.OneLine(d.String(), 2000))
	}
	if more := len(wrong) - len(shown); more > 0 {
		fmt.Fprintf(p.Stderr, "%s in %s: see 'worker agents lint'\n", termtext.Plural(more, "more problem"), termtext.Plural(len(files), "agent file"))
	}
}

// rank is lower the graver a finding is.
func rank(d agentdefs.Diagnostic) int {
	if d.Severity == agentdefs.Error {
		return 0
	}
	return 1
}

// OnlyBuiltIn reports whether no file's agent is served.
func OnlyBuiltIn(snapshot *agentdefs.Snapshot) bool {
	return !slices.ContainsFunc(snapshot.Agents(), func(d *agentdefs.Definition) bool { return !d.BuiltIn })
}

// ReportUnread prints on stderr, in one line, which folders of agent files are not read,
// and how to read them.
func (p *Program) ReportUnread(snapshot *agentdefs.Snapshot) {
	if folders := snapshot.Unread(); len(folders) > 0 {
		fmt.Fprintln(p.Stderr, termtext.OneLine(agentdefs.SayUnread(folders)+"; "+agentdefs.ReadHint(folders), 2000))
	}
}

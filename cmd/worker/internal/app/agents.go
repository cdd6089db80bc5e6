package app

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/instructions"
	"github.com/agentworker/worker/agentdefs/skills"
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
	loaded, err := agentdefs.Load(ws.Root, opts)
	if err == nil {
		p.agentHooks, p.agentServers = hooksOf(loaded), serversOf(loaded)
	}
	return loaded, err
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
	opts := agentSources(p, ws)
	opts.Nesting, opts.MaxSteps, opts.Home, opts.Logger = p.Settings.MaxDepth > 1, p.Settings.MaxSteps, ws.Home, p.Logger()
	opts.KnownModel, opts.KnownSkill = known, knownSkill(p, ws)
	opts.Tools = toolcatalog.Names(func(t toolcatalog.Tool) bool {
		return !t.Own && t.Name != toolcatalog.Task && t.Name != toolcatalog.Skill && (!t.Reserved || t.Name == toolcatalog.WebSearch && p.Settings.WebSearch().Provider != "")
	})
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

// Skills returns the skills of a workspace and of its user. Where the policy has the agent
// files of one of them unread, so are the skills. It wants the policy open.
func Skills(p *Program, ws *workspace.Workspace) *skills.Library {
	return skillsOf(p, ws, p.Logger())
}

func skillsOf(p *Program, ws *workspace.Workspace, log *slog.Logger) *skills.Library {
	root, home := ws.Root, ws.Home
	for _, unread := range p.above.unread {
		switch unread.Name {
		case policy.Workspace:
			root = ""
		case policy.User:
			home = ""
		}
	}
	var plugins []skills.PluginFolder
	for _, of := range agentdefs.PluginSkills(ws.Root, agentSources(p, ws)) {
		plugins = append(plugins, skills.PluginFolder{Plugin: of[0], Folder: of[1]})
	}
	return skills.NewLibrary(root, home, log, plugins...)
}

// Instructions returns the reader of what a workspace and its user say to all agents. Where the
// policy has the user's folders unread, so are the user's files. log may be nil.
func Instructions(p *Program, ws *workspace.Workspace, log *slog.Logger) *instructions.Reader {
	opts := &instructions.Options{Kinds: p.Settings.Instructions(), Logger: log}
	if !slices.ContainsFunc(p.above.unread, func(f policy.ForbiddenError) bool { return f.Name == policy.User }) {
		own := filepath.Join(ws.ConfigDir, "AGENTS.md")
		shown := own
		if rel, err := filepath.Rel(ws.Home, own); ws.Home != "" && err == nil && filepath.IsLocal(rel) {
			shown = "~/" + filepath.ToSlash(rel)
		}
		opts.User = append(opts.User, instructions.UserFile{Kind: instructions.User, Path: own, Shown: shown})
		if ws.Home != "" {
			opts.User = append(opts.User, instructions.UserFile{Kind: instructions.ClaudeUser, Path: filepath.Join(ws.Home, ".claude", "CLAUDE.md"), Shown: "~/.claude/CLAUDE.md"})
		}
	}
	return instructions.NewReader(ws.Root, opts)
}

// knownSkill reports whether there is a skill of a name that a model may load.
func knownSkill(p *Program, ws *workspace.Workspace) func(name string) bool {
	library := skillsOf(p, ws, nil)
	return func(name string) bool {
		s := library.Current().Get(name)
		return s != nil && !s.NoModel
	}
}

// agentSources says where the agents of a workspace come from, before a policy leaves any of
// them out.
func agentSources(p *Program, ws *workspace.Workspace) *agentdefs.Options {
	return &agentdefs.Options{
		UserDir:   filepath.Join(ws.ConfigDir, "agents"),
		Dirs:      p.Settings.AgentsDirs,
		From:      p.Settings.AgentsFrom,
		ToolsHome: ws.Home,
	}
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
	var own, others []agentdefs.Diagnostic
	for _, d := range wrong(snapshot) {
		if d.File == file {
			own = append(own, d)
		} else {
			others = append(others, d)
		}
	}
	report(p.Stderr, own, others, "problem", " of other agents")
	if OnlyBuiltIn(snapshot) {
		p.ReportUnread(snapshot)
	}
}

// maxReported is how many findings a command prints that is not about agent files.
const maxReported = 2

// ReportDiagnostics prints on stderr what is wrong with agent files: up to two findings, else
// the gravest one and how many more 'worker agents lint' has.
func (p *Program) ReportDiagnostics(snapshot *agentdefs.Snapshot) {
	found := wrong(snapshot)
	slices.SortStableFunc(found, func(a, b agentdefs.Diagnostic) int { return cmp.Compare(a.Severity, b.Severity) }) // error, then warning
	shown := len(found)
	if shown > maxReported {
		shown = maxReported - 1
	}
	report(p.Stderr, found[:shown], found[shown:], "more problem", "")
}

// wrong returns the errors and warnings of agent files.
func wrong(snapshot *agentdefs.Snapshot) []agentdefs.Diagnostic {
	return slices.DeleteFunc(agentdefs.EachOnce(snapshot.Diagnostics()), func(d agentdefs.Diagnostic) bool { return d.Severity == agentdefs.Information })
}

// report prints diagnostics, and counts others in one line: of is whose files those are.
func report(w io.Writer, shown, others []agentdefs.Diagnostic, problem, of string) {
	for _, d := range shown {
		fmt.Fprintln(w, termtext.OneLine(d.String(), termtext.MaxText))
	}
	if len(others) == 0 {
		return
	}
	files := make(map[string]bool)
	for _, d := range others {
		files[d.File] = true
	}
	fmt.Fprintf(w, "%s in %s%s: see 'worker agents lint'\n", termtext.Plural(len(others), problem), termtext.Plural(len(files), "file"), of)
}

// OnlyBuiltIn reports whether no file's agent is served.
func OnlyBuiltIn(snapshot *agentdefs.Snapshot) bool {
	return !slices.ContainsFunc(snapshot.Agents(), func(d *agentdefs.Definition) bool { return !d.BuiltIn })
}

// ReportUnread prints on stderr, in one line, which folders of agent files are not read,
// and how to read them.
func (p *Program) ReportUnread(snapshot *agentdefs.Snapshot) {
	if folders := snapshot.Unread(); len(folders) > 0 {
		reportLine(p, agentdefs.SayUnread(folders), agentdefs.ReadHint(folders))
	}
}

// ReportFolders prints on stderr, in one line, which folders of agent files are read and which are not.
// A workspace without agents of its own is offered some. Where all folders with agents are read, it
// prints nothing.
func ReportFolders(p *Program, snapshot *agentdefs.Snapshot) {
	var parts []string
	if len(snapshot.Unread()) == 0 && !OnlyBuiltIn(snapshot) {
		return
	}
	if read := snapshot.Read(); len(read) > 0 {
		parts = append(parts, agentdefs.SayRead(read))
	}
	folders := snapshot.Unread()
	if len(folders) > 0 {
		parts = append(parts, agentdefs.SayUnread(folders), agentdefs.ReadHint(folders))
	}
	switch {
	case snapshot.Dir() != "" || !OnlyBuiltIn(snapshot):
	case len(folders) > 0:
		parts = append(parts, "'worker init --from "+strings.Join(agentdefs.UnreadSources(folders), ",")+"' copies them to .agents/agents")
	default:
		parts = append(parts, "there are no agents but those that are built in: 'worker init' writes a first one")
	}
	reportLine(p, parts...)
}

// reportLine prints parts of a line on stderr.
func reportLine(p *Program, parts ...string) {
	fmt.Fprintln(p.Stderr, termtext.OneLine(strings.Join(parts, "; "), termtext.MaxText))
}

// namedAgentFiles are the files that steer agents because another file names them, and those of
// plugins. The workspace as a whole is closed to writing where they are not known.
func namedAgentFiles(p *Program, ws *workspace.Workspace) []string {
	files, err := agentdefs.Files(ws.Root, agentSources(p, ws))
	if err != nil {
		return []string{ws.Root}
	}
	return files
}

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/tool"
)

// app is a worker that can run tasks.
type app struct {
	*store
	agents   *agentdefs.Registry
	told     sync.WaitGroup // until all changes of agents are announced
	files    *tool.Workspace
	audit    *session.AuditLog
	sessions *session.Manager
	tasks    *taskt.Service
}

func (p *program) workspace() (*workspace.Workspace, error) {
	ws, err := workspace.Find(workspace.Options{
		Dir:      p.settings.Dir,
		Name:     p.settings.Workspace,
		StateDir: p.settings.StateDir,
		Getenv:   p.getenv,
	})
	if err != nil {
		return nil, usageError{err}
	}
	return ws, nil
}

// openApp opens everything that a task needs. approver answers what rules ask,
// beside 'worker approvals' in other processes; attended says that somebody may
// use that, and the answer is worth waiting for.
func (p *program) openApp(ctx context.Context, approver session.Approver, attended bool) (_ *app, err error) {
	s, err := p.openStore(ctx)
	if err != nil {
		return nil, err
	}
	a := &app{store: s}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	ws := s.ws
	rules, err := permission.OpenFile(rulesFile(ws), ws.Home)
	if err != nil {
		return nil, err
	}
	if a.agents, err = agentdefs.Open(ctx, ws.Root, p.agentOptions(ws)); err != nil {
		return nil, err
	}
	a.told.Go(func() { taskt.Announce(context.WithoutCancel(ctx), a.agents, s.bus, p.logger()) })
	if a.files, err = tool.OpenWorkspace(ws.Root, &tool.Options{Env: p.environ, Home: ws.Home}); err != nil {
		return nil, err
	}
	if a.audit, err = session.OpenAuditLog(filepath.Join(ws.StateDir, "audit.jsonl")); err != nil {
		return nil, err
	}
	a.sessions, err = session.NewManager(ctx, session.Options{
		Bus:        s.bus,
		Workspace:  permission.Workspace{Root: ws.Root, Home: ws.Home},
		Static:     rules,
		RulesFile:  rulesFile(ws),
		Model:      p.models().get,
		Approver:   approver,
		Unattended: !attended && p.settings.ApprovalTimeout == 0,
		Audit:      a.audit,
		Retention:  p.settings.Retained(),
		Limits:     session.Limits{Approval: p.settings.ApprovalTimeout, ModelCall: p.settings.ModelTimeout},
		Logger:     p.logger(),
	})
	if err != nil {
		return nil, err
	}
	a.tasks, err = taskt.New(taskt.Options{
		Sessions: a.sessions,
		Agents:   a.agents,
		Root:     ws.Root,
		Tools:    tool.Builtin(a.files),
		Rules:    p.ownRules(ws),
		Limits:   taskt.Limits{Depth: p.settings.MaxDepth, ChildTime: p.settings.Timeout},
		Logger:   p.logger(),
	})
	if err != nil {
		return nil, usageError{err}
	}
	a.report(ctx, false)
	return a, nil
}

func (a *app) close() error {
	var errs []error
	if a.sessions != nil {
		errs = append(errs, a.sessions.Close())
	}
	if a.files != nil {
		errs = append(errs, a.files.Close())
	}
	if a.agents != nil {
		a.agents.Close()
		a.told.Wait()
	}
	if a.audit != nil {
		errs = append(errs, a.audit.Close())
	}
	return errors.Join(append(errs, a.store.close())...)
}

// reportAgent says on stderr what is wrong with the file of an agent that is
// about to run, or with the one that would have the name; of all others in one
// line that there is something.
func (p *program) reportAgent(snapshot *agentdefs.Snapshot, def *agentdefs.Definition, name string) {
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
			fmt.Fprintln(p.stderr, termtext.OneLine(d.String(), 2000))
		default:
			wrong++
			files[d.File] = true
		}
	}
	if wrong > 0 {
		fmt.Fprintf(p.stderr, "%s in %s of other agents: see 'worker agents lint'\n", counted(wrong, "problem"), counted(len(files), "file"))
	}
	if onlyBuiltIn(snapshot) {
		p.reportUnread(snapshot)
	}
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// reportDiagnostics says on stderr what is wrong with agent files.
func (p *program) reportDiagnostics(snapshot *agentdefs.Snapshot) {
	for _, d := range snapshot.Diagnostics() {
		if d.Severity != agentdefs.Information {
			fmt.Fprintln(p.stderr, termtext.OneLine(d.String(), 2000))
		}
	}
}

// rulesFile returns where the static rules of a workspace are.
func rulesFile(ws *workspace.Workspace) string {
	return filepath.Join(ws.StateDir, "permissions.jsonc")
}

// ownRules are the rules that stand behind every agent's own: no file can lift
// them.
func (p *program) ownRules(ws *workspace.Workspace) []permission.Rule {
	rules := ownFolders(ws, p.sharedAgents(ws)...)
	for _, pattern := range below(p.settings.KeyFiles()...) {
		rules = append(rules, permission.Rule{
			Tool: "*", Pattern: pattern, Action: permission.Deny, Source: permission.Source{File: "the API key's file"},
		})
	}
	return rules
}

// onlyBuiltIn reports whether no file's agent is served.
func onlyBuiltIn(snapshot *agentdefs.Snapshot) bool {
	return !slices.ContainsFunc(snapshot.Agents(), func(d *agentdefs.Definition) bool { return !d.BuiltIn })
}

// reportUnread says on stderr, in one line, which folders of agent files are not
// read, and how to read them.
func (p *program) reportUnread(snapshot *agentdefs.Snapshot) {
	if folders := snapshot.Unread(); len(folders) > 0 {
		fmt.Fprintln(p.stderr, termtext.OneLine(agentdefs.SayUnread(folders)+"; "+agentdefs.ReadHint(folders), 2000))
	}
}

// ownFolders are the rules that keep agents out of the worker's own state and
// settings: with those an agent could give itself what the rules deny it.
//
// The same for git's own folder, where a file can be a program that the user's
// next git command runs: no file tool writes there. And for agentsDirs, the
// further folders of agent files, which serve other workspaces too.
func ownFolders(ws *workspace.Workspace, agentsDirs ...string) []permission.Rule {
	var rules []permission.Rule
	deny := func(source string, patterns []string, tools ...string) {
		for _, name := range tools {
			for _, pattern := range patterns {
				rules = append(rules, permission.Rule{
					Tool: name, Pattern: pattern, Action: permission.Deny, Source: permission.Source{File: source},
				})
			}
		}
	}
	deny("git's own folder", []string{".git", ".git/**", "**/.git", "**/.git/**"}, "write_file", "edit_file")
	deny("the agent files of --agents-dir", below(agentsDirs...), "write_file", "edit_file")
	deny("the worker's own folders", below(ws.StateDir, ws.StateHome, ws.ConfigDir), "*")
	return rules
}

// below returns the patterns of folders and of all below them, by the names
// that they are given by and by those that they really have.
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

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/tool"
)

// store is the open state of a workspace: what commands that only look need.
type store struct {
	ws   *workspace.Workspace
	bus  *eventbus.Bus
	lock *workspace.Lock // nil: external NATS
}

// app is a worker that can run tasks.
type app struct {
	*store
	agents   *agentdefs.Registry
	files    *tool.Workspace
	sessions *session.Manager
	tasks    *taskt.Service
}

func (p *program) workspace() (*workspace.Workspace, error) {
	ws, err := workspace.Find(workspace.Options{
		Dir:      p.settings.dir,
		Name:     p.settings.workspace,
		StateDir: p.settings.stateDir,
		Getenv:   p.getenv,
	})
	if err != nil {
		return nil, usageError{err}
	}
	return ws, nil
}

// openStore opens the workspace's state, and marks as interrupted the sessions
// that a killed process left running.
func (p *program) openStore(ctx context.Context) (_ *store, err error) {
	ws, err := p.workspace()
	if err != nil {
		return nil, err
	}
	if err := ws.MakeStateDir(); err != nil {
		return nil, err
	}
	s := &store{ws: ws}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	opts := &eventbus.Options{URL: p.settings.nats, StoreDir: filepath.Join(ws.StateDir, "nats"), Logger: p.logger()}
	if opts.URL == "" {
		if s.lock, err = ws.Lock(ctx); err != nil {
			return nil, err
		}
	}
	if s.bus, err = eventbus.Open(ctx, ws.ID, opts); err != nil {
		return nil, err
	}
	if s.bus.Embedded() {
		records, err := session.OpenStore(ctx, s.bus)
		if err != nil {
			return nil, err
		}
		if _, err := records.Recover(ctx, s.bus); err != nil {
			return nil, fmt.Errorf("ending the sessions of an earlier process: %w", err)
		}
	}
	return s, nil
}

func (s *store) close() error {
	var errs []error
	if s.bus != nil {
		errs = append(errs, s.bus.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Unlock())
	}
	return errors.Join(errs...)
}

// openApp opens everything that a task needs. approver answers what rules ask;
// nil: nobody can.
func (p *program) openApp(ctx context.Context, approver session.Approver) (_ *app, err error) {
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
	rulesFile := filepath.Join(ws.StateDir, "permissions.jsonc")
	rules, err := permission.OpenFile(rulesFile, ws.Home)
	if err != nil {
		return nil, err
	}
	if a.agents, err = agentdefs.Open(ctx, ws.Root, &agentdefs.Options{Nesting: p.settings.maxDepth > 1, Home: ws.Home, Logger: p.logger()}); err != nil {
		return nil, err
	}
	if a.files, err = tool.OpenWorkspace(ws.Root, &tool.Options{Env: p.environ, Home: ws.Home}); err != nil {
		return nil, err
	}
	a.sessions, err = session.NewManager(ctx, session.Options{
		Bus:       s.bus,
		Workspace: permission.Workspace{Root: ws.Root, Home: ws.Home},
		Static:    rules,
		RulesFile: rulesFile,
		Model:     models{p.getenv, p.settings.model}.get,
		Approver:  approver,
		Logger:    p.logger(),
	})
	if err != nil {
		return nil, err
	}
	a.tasks, err = taskt.New(taskt.Options{
		Sessions: a.sessions,
		Agents:   a.agents,
		Root:     ws.Root,
		Tools:    tool.Builtin(a.files),
		Rules:    ownFolders(ws),
		Limits:   taskt.Limits{Depth: p.settings.maxDepth, ChildTime: p.settings.timeout},
		Logger:   p.logger(),
	})
	if err != nil {
		return nil, usageError{err}
	}
	return a, nil
}

func (a *app) close() error {
	var errs []error
	if a.files != nil {
		errs = append(errs, a.files.Close())
	}
	if a.agents != nil {
		a.agents.Close()
	}
	return errors.Join(append(errs, a.store.close())...)
}

// reportDiagnostics says on stderr what is wrong with agent files.
func (p *program) reportDiagnostics(snapshot *agentdefs.Snapshot) {
	for _, d := range snapshot.Diagnostics() {
		if d.Severity != agentdefs.Information {
			fmt.Fprintln(p.stderr, eventbus.OneLine(d.String(), 2000))
		}
	}
}

// ownFolders are the rules that keep agents out of the worker's own state and
// settings: with those an agent could give itself what the rules deny it.
//
// The same for git's own folder, where a file can be a program that the user's
// next git command runs: no file tool writes there.
func ownFolders(ws *workspace.Workspace) []permission.Rule {
	var rules []permission.Rule
	for _, name := range []string{"write_file", "edit_file"} {
		for _, pattern := range []string{".git", ".git/**", "**/.git", "**/.git/**"} {
			rules = append(rules, permission.Rule{
				Tool: name, Pattern: pattern, Action: permission.Deny, Source: permission.Source{File: "git's own folder"},
			})
		}
	}
	dirs := []string{ws.StateDir, ws.StateHome, ws.ConfigDir}
	for _, dir := range slices.Clone(dirs) {
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
			dirs = append(dirs, real)
		}
	}
	for _, dir := range dirs {
		for _, pattern := range []string{permission.QuoteGlob(dir), permission.QuoteGlob(dir) + "/**"} {
			rules = append(rules, permission.Rule{
				Tool: "*", Pattern: pattern, Action: permission.Deny, Source: permission.Source{File: "the worker's own folders"},
			})
		}
	}
	return rules
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/exit"
	"github.com/agentworker/worker/model/price"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/taskt/memory"
	"github.com/agentworker/worker/taskt/route"
	"github.com/agentworker/worker/tool"
)

// app is a worker that can run tasks.
type app struct {
	*storage
	agents   *agentdefs.Registry
	told     sync.WaitGroup // until all changes of agents are announced
	files    *tool.Workspace
	audit    *audit.Log
	sessions *session.Manager
	tasks    *taskt.Service
}

// openApp opens everything that a task needs. approver answers what rules ask,
// beside 'worker approvals' in other processes; attended says that somebody may
// use that, and the answer is worth waiting for. stays says that the worker does not end
// with a task: it goes on with subagents of workers that were killed.
func (p *program) openApp(ctx context.Context, approver session.Approver, attended, stays bool) (_ *app, err error) {
	s, err := p.openStorage(ctx)
	if err != nil {
		return nil, err
	}
	a := &app{storage: s}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	takesOver := stays && p.settings.Takeovers > 0
	if !takesOver {
		if err = s.recover(ctx); err != nil {
			return nil, err
		}
	}
	ws := s.ws
	rules, err := permission.OpenFile(rulesFile(ws), ws.Home)
	if err != nil {
		return nil, err
	}
	if a.agents, err = agentdefs.Open(ctx, ws.Root, p.agentOptions(ws)); err != nil {
		return nil, err
	}
	a.told.Go(func() { taskt.Announce(context.WithoutCancel(ctx), a.agents, s.bus, p.logger()) })
	options := p.toolOptions(ws)
	options.Sandbox.Dir = filepath.Join(ws.StateDir, "sandbox")
	if a.files, err = tool.OpenWorkspace(ws.Root, options); err != nil {
		return nil, exit.Usage(err)
	}
	if options.Sandbox.Mode == sandbox.Off {
		fmt.Fprintln(p.stderr, "The sandbox is off (--sandbox=off): commands reach whatever you do. Those that rules restrict are asked about.")
	}
	if a.audit, err = audit.Open(filepath.Join(ws.StateDir, "audit.jsonl")); err != nil {
		return nil, err
	}
	prices, err := price.Load(p.settings.Prices.String())
	if err != nil {
		return nil, exit.Usage(err)
	}
	a.sessions, err = session.OpenManager(ctx, session.Options{
		Bus:        s.bus,
		Workspace:  permission.Workspace{Root: ws.Root, Home: ws.Home},
		Static:     rules,
		RulesFile:  rulesFile(ws),
		Model:      p.models().Get,
		Own:        p.models().Own,
		Approver:   approver,
		Unattended: !attended && p.settings.ApprovalTimeout == 0,
		Audit:      a.audit,
		Prices:     prices,
		EndNotes:   control.EndNotes,
		Window: func(name string) int64 {
			return cmp.Or(prices.Window(name), int64(p.settings.ContextWindow))
		},
		TakesOver: takesOver,
		Retention: p.settings.Retained(),
		Limits: session.Limits{
			Approval:  p.settings.ApprovalTimeout,
			ModelCall: p.settings.ModelTimeout,
			Pause:     p.settings.MaxPause,
			StepCalls: p.settings.MaxToolCalls,
		},
		Logger: p.logger(),
	})
	if err != nil {
		return nil, err
	}
	var router session.Router
	if by := p.settings.RouteModel; by != "" {
		if router, err = route.New(by, p.settings.ModelAliases); err != nil {
			return nil, exit.Usage(fmt.Errorf("route-model: %w", err))
		}
	}
	a.tasks, err = taskt.New(taskt.Options{
		Sessions: a.sessions,
		Agents:   a.agents,
		Root:     ws.Root,
		Tools:    tool.Builtin(a.files),
		In:       func(dir string) []tool.Tool { return tool.BuiltinIn(a.files, dir) },
		Isolate:  a.isolate,
		Rules:    p.ownRules(ws),
		Budget:   p.settings.Budget.Limits,

		Memory:      filepath.Join(ws.StateDir, memory.FileName),
		AgentModels: p.settings.AgentModels,
		Router:      router,
		Prices:      prices,
		Limits: taskt.Limits{
			Depth:     p.settings.MaxDepth,
			Running:   p.settings.MaxChildren,
			PerParent: p.settings.MaxPerParent,

			ChildTime:      p.settings.Timeout,
			BackgroundTime: p.settings.BackgroundTimeout,
			Stall:          p.settings.StallTimeout,
			Takeovers:      p.settings.Takeovers,
		},
		Logger: p.logger(),
	})
	if err != nil {
		return nil, exit.Usage(err)
	}
	if takesOver {
		a.tasks.TakeOver(ctx)
	}
	a.report(ctx, false)
	return a, nil
}

// isolate makes a git worktree for a session, and tools that work in it.
func (a *app) isolate(ctx context.Context, from, id string) (*taskt.Place, error) {
	w, err := worktrees(a.ws).Create(ctx, from, id)
	if err != nil {
		return nil, err
	}
	files, err := a.files.OpenWorktree(w)
	if err != nil {
		return nil, errors.Join(err, w.Discard(context.WithoutCancel(ctx)))
	}
	return &taskt.Place{
		Worktree: w, Paths: files.Paths(), Tools: tool.Builtin(files), Close: files.Close,
		In: func(dir string) []tool.Tool { return tool.BuiltinIn(files, dir) },
	}, nil
}

// serving opens what a server needs, with a log, and says what is wrong with the
// agent files. It closes all of it when do returns.
func (p *program) serving(ctx context.Context, do func(*app) error) (err error) {
	endLog, err := p.keepLog()
	if err != nil {
		return err
	}
	defer endLog()
	a, err := p.openApp(ctx, nil, true, true)
	if err != nil {
		if ctx.Err() != nil {
			return nil // it was told to end before it had begun
		}
		return err
	}
	defer func() { err = p.served(ctx, errors.Join(err, a.close())) }()
	p.reportDiagnostics(a.agents.Snapshot())
	p.reportUnread(a.agents.Snapshot())
	return do(a)
}

// served returns how a server has ended. To be told so by a signal is how it ends:
// what went wrong then is a failure, and no interruption.
func (p *program) served(ctx context.Context, err error) error {
	switch {
	case ctx.Err() == nil || err == nil:
		return err
	case errors.Is(err, context.Canceled):
		return nil
	}
	p.complain(err)
	return exit.Failed
}

func (a *app) close() error {
	var errs []error
	if a.tasks != nil {
		a.tasks.Close()
	}
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
	return errors.Join(append(errs, a.storage.close())...)
}

// report has this worker listed, with what it does at the time. serving says
// that it takes calls over NATS.
func (a *app) report(ctx context.Context, serving bool) {
	a.sessions.Report(ctx, func() lease.Load {
		snapshot, load := a.agents.Snapshot(), a.tasks.Load()
		return lease.Load{
			Version:         version(),
			SnapshotVersion: snapshot.Version,
			Fingerprint:     snapshot.Fingerprint(),
			Agents:          len(snapshot.Agents()),
			Capacity:        load.Capacity,
			Running:         load.Running,
			Queued:          load.Queued,
			Serving:         serving,
		}
	})
}

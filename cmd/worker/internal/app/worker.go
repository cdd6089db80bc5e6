package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/model/price"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/taskt/memory"
	"github.com/agentworker/worker/taskt/route"
	"github.com/agentworker/worker/taskt/upkeep"
	"github.com/agentworker/worker/tool"
)

// Worker is a worker that can run tasks.
type Worker struct {
	*Storage
	Agents   *agentdefs.Registry
	told     sync.WaitGroup // until all changes of agents are announced
	files    *tool.Workspace
	audit    *audit.Log
	Sessions *session.Manager
	Tasks    *taskt.Service
}

// Audit returns the audit log of the workspace.
func (a *Worker) Audit() *audit.Log { return a.audit }

// OpenWorker opens everything that a task needs. approver answers what rules ask,
// beside 'worker approvals' in other processes; attended says that somebody may
// use that, and the answer is worth waiting for. stays says that the worker does not end
// with a task: it goes on with subagents of workers that were killed.
func (p *Program) OpenWorker(ctx context.Context, approver gate.Approver, attended, stays bool) (_ *Worker, err error) {
	above, err := p.OpenPolicy()
	if err != nil {
		return nil, err
	}
	s, err := p.OpenStorage(ctx)
	if err != nil {
		return nil, err
	}
	a := &Worker{Storage: s}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if err = s.Bus.Election().Room(); err != nil { // else what it begins would wait for some
		return nil, fmt.Errorf("opening the event store in %s: %w", s.Workspace.StateDir, err)
	}
	takesOver := stays && p.Settings.Takeovers > 0
	if !takesOver {
		if err = s.Recover(ctx); err != nil {
			return nil, err
		}
	}
	ws := s.Workspace
	rules, err := permission.OpenFile(RulesFile(ws), ws.Home)
	if err != nil {
		return nil, err
	}
	from, err := p.AgentOptions(ws)
	if err != nil {
		return nil, err
	}
	if a.Agents, err = agentdefs.Open(ctx, ws.Root, from); err != nil {
		return nil, err
	}
	a.told.Go(func() { taskt.Announce(context.WithoutCancel(ctx), a.Agents, s.Bus, p.Logger()) })
	options := p.ToolOptions(ws)
	options.Sandbox.Dir = filepath.Join(ws.StateDir, "sandbox")
	if a.files, err = tool.OpenWorkspace(ws.Root, options); err != nil {
		return nil, cli.Usage(err)
	}
	if options.Sandbox.Mode == sandbox.Off {
		fmt.Fprintln(p.Stderr, "The sandbox is off (--sandbox=off): commands reach whatever you do. Those that rules restrict are asked about.")
	}
	if a.audit, err = p.OpenAudit(ctx, s); err != nil {
		return nil, err
	}
	prices, err := price.Load(p.Settings.Prices.String())
	if err != nil {
		return nil, cli.Usage(err)
	}
	models, own := p.Models().Get, p.Models().Own
	if p.Instead.Model != nil {
		models, own = p.Instead.Model, nil
	}
	a.Sessions, err = session.OpenManager(ctx, session.Options{
		Bus:        s.Bus,
		Workspace:  permission.Workspace{Root: ws.Root, Home: ws.Home},
		Static:     rules,
		Policy:     above,
		RulesFile:  RulesFile(ws),
		Model:      models,
		Own:        own,
		Approver:   approver,
		Unattended: !attended && p.Settings.ApprovalTimeout == 0,
		Alone:      !attended && !gate.Asks(approver),
		Audit:      a.audit,
		Prices:     prices,
		EndNotes:   control.EndNotes,
		Window: func(name string) int64 {
			return cmp.Or(prices.Window(name), int64(p.Settings.ContextWindow))
		},
		TakesOver: takesOver,
		Retention: p.Settings.Retained(),
		Limits: session.Limits{
			Approval:  p.Settings.ApprovalTimeout,
			ModelCall: p.Settings.ModelTimeout,
			Pause:     p.Settings.MaxPause,
			StepCalls: p.Settings.MaxToolCalls,
		},
		Logger: p.Logger(),
	})
	if err != nil {
		return nil, err
	}
	var router session.Router
	if by := p.Settings.RouteModel; by != "" {
		if router, err = route.New(by, p.Settings.ModelAliases); err != nil {
			return nil, cli.Usage(fmt.Errorf("route-model: %w", err))
		}
	}
	a.Tasks, err = taskt.New(taskt.Options{
		Sessions: a.Sessions,
		Agents:   a.Agents,
		Root:     ws.Root,
		Tools:    p.Instead.tools(tool.Builtin(a.files)),
		In:       func(dir string) []tool.Tool { return p.Instead.tools(tool.BuiltinIn(a.files, dir)) },
		Isolate:  a.isolate,
		Rules:    p.OwnRules(ws),
		Budget:   p.Settings.Budget.Limits,
		Above:    p.above.budgets,

		Memory:      filepath.Join(ws.StateDir, memory.FileName),
		AgentModels: p.Settings.AgentModels,

		AgentEfforts: p.Settings.AgentEfforts,
		Router:       router,
		Prices:       prices,
		Limits: taskt.Limits{
			Depth:     p.Settings.MaxDepth,
			Running:   p.Settings.MaxChildren,
			PerParent: p.Settings.MaxPerParent,

			ChildTime:      p.Settings.Timeout,
			BackgroundTime: p.Settings.BackgroundTimeout,
			Stall:          p.Settings.StallTimeout,
			StallNotice:    p.Settings.StallNotice,
			Most:           p.above.time,
			Takeovers:      p.Settings.Takeovers,
		},
		Logger: p.Logger(),
	})
	if err != nil {
		return nil, cli.Usage(err)
	}
	if takesOver {
		a.Tasks.TakeOver(ctx)
	}
	a.Report(ctx, false)
	return a, nil
}

// Worktrees returns the worktrees of a workspace's sessions.
func Worktrees(ws *workspace.Workspace) *worktree.Store {
	return worktree.Open(filepath.Join(ws.StateDir, "worktrees"))
}

// Upkeep returns what is done with sessions that have ended.
func (a *Worker) Upkeep() *upkeep.Upkeep {
	return &upkeep.Upkeep{Sessions: a.Sessions.Store(), Worktrees: Worktrees(a.Workspace), Summarise: a.Tasks.Summarise}
}

// isolate makes a git worktree for a session, and tools that work in it.
func (a *Worker) isolate(ctx context.Context, from, id string) (*taskt.Place, error) {
	w, err := Worktrees(a.Workspace).Create(ctx, from, id)
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

// Serving opens what a server needs, with a log, and says what is wrong with the
// agent files. It closes all of it when do returns. stays is as in [Program.OpenWorker].
func (p *Program) Serving(ctx context.Context, stays bool, do func(*Worker) error) (err error) {
	endLog, err := p.KeepLog()
	if err != nil {
		return err
	}
	defer endLog()
	a, err := p.OpenWorker(ctx, nil, true, stays)
	if err != nil {
		if ctx.Err() != nil {
			return nil // it was told to end before it had begun
		}
		return err
	}
	defer func() { err = p.served(ctx, errors.Join(err, a.Close())) }()
	p.ReportDiagnostics(a.Agents.Snapshot())
	p.ReportUnread(a.Agents.Snapshot())
	return do(a)
}

// served returns how a server has ended. To be told so by a signal is how it ends:
// what went wrong then is a failure, and no interruption.
func (p *Program) served(ctx context.Context, err error) error {
	switch {
	case ctx.Err() == nil || err == nil:
		return err
	case errors.Is(err, context.Canceled):
		return nil
	}
	p.Complain(err)
	return cli.Failed
}

// Close ends what the worker runs, and closes what it has opened.
func (a *Worker) Close() error {
	var errs []error
	if a.Tasks != nil {
		a.Tasks.Close()
	}
	if a.Sessions != nil {
		errs = append(errs, a.Sessions.Close())
	}
	if a.files != nil {
		errs = append(errs, a.files.Close())
	}
	if a.Agents != nil {
		a.Agents.Close()
		a.told.Wait()
	}
	if a.audit != nil {
		errs = append(errs, a.audit.Close())
	}
	return errors.Join(append(errs, a.Storage.Close())...)
}

// Report has this worker listed, with what it does at the time. serving says
// that it takes calls over NATS.
func (a *Worker) Report(ctx context.Context, serving bool) {
	a.Sessions.Report(ctx, func() lease.Load {
		snapshot, load := a.Agents.Snapshot(), a.Tasks.Load()
		return lease.Load{
			Version:         Version(),
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

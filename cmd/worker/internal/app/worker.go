package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/models"
	"github.com/agentworker/worker/frontdoor/notify"
	"github.com/agentworker/worker/hooks"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/model/price"
	"github.com/agentworker/worker/model/provider"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/policy"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/presence"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/taskt/memory"
	"github.com/agentworker/worker/taskt/route"
	"github.com/agentworker/worker/taskt/upkeep"
	"github.com/agentworker/worker/taskt/workdir"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/lsp"
	"github.com/agentworker/worker/tool/mcpclient"
)

// Worker is a worker that can run tasks.
type Worker struct {
	*Storage
	Agents    *agentdefs.Registry
	Audit     *audit.Log
	Sessions  *session.Manager
	Tasks     *taskt.Service
	announced sync.WaitGroup // of the changes of agents
	files     *tool.Workspace
	servers   *mcpclient.Servers
	languages *lsp.Servers
	notifier  *notify.Notifier
	hooks     *hooks.Runner
	prices    *price.Table
	program   *Program
}

// attendance says who may answer for a worker, and for how long it runs.
type attendance struct {
	approver approval.Approver // answers what rules ask, besides 'worker approvals' in other processes
	serves   bool              // somebody may use that, so an answer is worth waiting for
	stays    bool              // it runs on after a task: it continues subagents of workers that were killed
}

// OpenWorker opens everything that one task needs. approver answers what rules ask; nil
// means nobody does. The caller closes the worker.
func (p *Program) OpenWorker(ctx context.Context, approver approval.Approver) (*Worker, error) {
	return p.openWorker(ctx, attendance{approver: approver})
}

func (p *Program) openWorker(ctx context.Context, who attendance) (_ *Worker, err error) {
	above, err := p.OpenPolicy()
	if err != nil {
		return nil, err
	}
	s, err := p.OpenStorage(ctx)
	if err != nil {
		return nil, err
	}
	a := &Worker{Storage: s, program: p}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if err = s.Bus.Election().Room(); err != nil { // else what it begins would wait for some
		return nil, fmt.Errorf("opening the event store in %s: %w", s.Workspace.StateDir, err)
	}
	who.stays = who.stays && p.Settings.Takeovers > 0
	if !who.stays {
		if err = s.Recover(ctx); err != nil {
			return nil, err
		}
	}
	if err = a.openFiles(ctx); err != nil {
		return nil, err
	}
	if a.Audit, err = p.OpenAudit(ctx, s); err != nil {
		return nil, err
	}
	if a.prices, err = Prices(p); err != nil {
		return nil, err
	}
	if err = a.openSessions(ctx, above, who); err != nil {
		return nil, err
	}
	if err = a.openTasks(); err != nil {
		return nil, cli.Usage(err)
	}
	if a.notifier, err = startNotifier(ctx, p, a, who.serves); err != nil {
		return nil, err
	}
	if who.stays {
		a.Tasks.ClaimSessions(ctx)
	}
	a.Report(ctx, false)
	hintLocal(ctx, p)
	return a, nil
}

// localTime is how long the start waits for servers of models on this machine.
const localTime = 300 * time.Millisecond

// hintLocal says at the start which servers of models answer on this machine, where only the offline model
// would.
func hintLocal(ctx context.Context, p *Program) {
	known := p.Models()
	if !known.Offline() {
		return
	}
	if hint := models.Hint(known.Local(ctx, localTime)); hint != "" {
		fmt.Fprintln(p.Stderr, "worker: no key is set, so the offline model answers. "+termtext.Printable(hint))
	}
}

// openFiles opens the agent files, and the workspace that tools work in.
func (a *Worker) openFiles(ctx context.Context) error {
	p, ws := a.program, a.Workspace
	from, err := p.AgentOptions(ws)
	if err != nil {
		return err
	}
	if a.Agents, err = agentdefs.Open(ctx, ws.Root, from); err != nil {
		return err
	}
	a.announced.Go(func() { taskt.PublishAgents(context.WithoutCancel(ctx), a.Agents, a.Bus, p.Logger()) })
	p.agentHooks, p.agentServers = hooksOf(a.Agents.Snapshot()), serversOf(a.Agents.Snapshot())
	options := p.ToolOptions(ws)
	options.Sandbox.Dir = sandboxDir(ws)
	if a.files, err = tool.OpenWorkspace(ws.Root, options); err != nil {
		return cli.Usage(err)
	}
	a.servers = NewServers(p, ws)
	a.languages = NewLanguageServers(p, ws)
	if a.hooks, err = NewHooks(p, ws, a.Agents.Snapshot); err != nil {
		return err
	}
	if options.Sandbox.Mode == sandbox.Off {
		fmt.Fprintln(p.Stderr, "The sandbox is off (--sandbox=off): commands reach whatever you do. Those that rules restrict are asked about.")
	}
	return nil
}

// openSessions opens what runs sessions.
func (a *Worker) openSessions(ctx context.Context, above *policy.Store, who attendance) error {
	p, ws := a.program, a.Workspace
	rules, err := staticRulesOf(p, ws)
	if err != nil {
		return err
	}
	repository := NewRepositoryRules(p, ws)
	if _, _, err := repository.Rules(); err != nil {
		return err
	}
	others := NewSettingsRules(p, ws, func(d agentdefs.Diagnostic) { p.Logger().Warn(d.String()) })
	if _, _, err := others.Rules(); err != nil {
		return err
	}
	if untrusted := Untrusted(repository, others); untrusted != "" {
		fmt.Fprintln(p.Stderr, "worker: "+termtext.Printable(untrusted))
	}
	models, own, defaults := p.Models().Get, p.Models().Own, p.Models().Defaults()
	if p.Overrides.Model != nil {
		models, own, defaults = p.Overrides.Model, nil, nil
	}
	a.Sessions, err = session.OpenManager(ctx, session.Options{
		Bus:        a.Bus,
		Workspace:  permission.Workspace{Root: ws.Root, Home: ws.Home},
		Static:     rules,
		Repository: repository,
		Settings:   others,
		Policy:     above,
		Hooks:      a.hooks,
		Reviewer:   p.Settings.ReviewModel,
		RulesFile:  RulesFile(ws),

		RulesByFlag: p.Pipeline,
		Model:       models,
		Own:         own,
		Defaults:    defaults,
		Approver:    who.approver,
		Unattended:  !who.serves && p.Settings.ApprovalTimeout == 0,
		Present:     a.present(),
		Alone:       !who.serves && !approval.Asks(who.approver),
		Audit:       a.Audit,
		Prices:      a.prices,
		EndNotes:    control.EndNotes,
		Window: func(name string) int64 {
			return p.Settings.ContextWindow.Of(a.prices.Window(name))
		},
		MaskForModel: p.Settings.MaskForModel,

		Trained:   provider.Patches,
		TakesOver: who.stays,
		Lease:     p.Settings.Lease,
		Retention: p.Settings.Retained(),
		Limits: session.Limits{
			Approval:   p.Settings.ApprovalTimeout,
			ModelCall:  p.Settings.ModelTimeout,
			ModelTotal: p.Settings.ModelTotal,
			Of:         p.Models().Timeouts,
			ToolCall:   p.Settings.ToolTimeout,
			Pause:      p.Settings.MaxPause,
			Retries:    cmp.Or(p.Settings.ModelRetries, -1),
			StepCalls:  p.Settings.MaxToolCalls,
		},
		Logger: p.Logger(),
	})
	return err
}

// present returns what finds somebody at another process of the workspace; nil means that
// nobody is waited for.
func (a *Worker) present() func(context.Context) string {
	if a.program.Pipeline {
		return nil
	}
	return func(ctx context.Context) string { return presence.Find(ctx, a.Bus) }
}

// openTasks opens the task tool.
func (a *Worker) openTasks() error {
	p, ws := a.program, a.Workspace
	var router session.Router
	var err error
	if by := p.Settings.RouteModel; by != "" {
		if router, err = route.New(by, p.Settings.ModelAliases); err != nil {
			return fmt.Errorf("route-model: %w", err)
		}
	}
	place := a.languages.In(a.files)
	in := func(dir string) []tool.Tool { return p.Overrides.tools(a.with(BuiltinTools(p, a.files, place, dir))) }
	a.Tasks, err = taskt.New(taskt.Options{
		Sessions: a.Sessions,
		Agents:   a.Agents,
		Root:     ws.Root, SharedFiles: p.Settings.SharedFiles, LocalStore: p.Settings.NATS == "",
		Shell:        p.Shell(),
		Tools:        in(""),
		In:           in,
		Servers:      a.servers.In(a.files),
		Isolate:      a.isolate,
		Rules:        p.OwnRules(ws),
		Budget:       p.Settings.Budget,
		Above:        p.above.budgets,
		Memory:       filepath.Join(ws.StateDir, memory.FileName),
		Instructions: Instructions(p, ws, p.Logger()),
		Skills:       Skills(p, ws),
		AgentModels:  p.Settings.AgentModels,
		AgentEfforts: p.Settings.AgentEfforts,
		Router:       router,
		Prices:       a.prices,
		Limits: taskt.Limits{
			Depth:          p.Settings.MaxDepth,
			Running:        p.Settings.MaxChildren,
			PerParent:      p.Settings.MaxPerParent,
			ChildTime:      p.Settings.Timeout,
			BackgroundTime: p.Settings.BackgroundTimeout,
			Stall:          p.Settings.StallTimeout,
			StallNotice:    p.Settings.StallNotice,
			Most:           p.above.time,
			Takeovers:      p.Settings.Takeovers,
		},
		Logger: p.Logger(),
	})
	return err
}

// with returns the tools of a folder, and the question to a person.
func (a *Worker) with(tools []tool.Tool) []tool.Tool {
	return append(slices.Clip(tools), a.Sessions.Questions())
}

// Worktrees returns the worktrees of a workspace's sessions.
func Worktrees(ws *workspace.Workspace) *worktree.Store {
	return worktree.Open(filepath.Join(ws.StateDir, "worktrees"))
}

// Upkeep returns what callers do with sessions that have ended.
func (a *Worker) Upkeep() *upkeep.Upkeep {
	return &upkeep.Upkeep{Sessions: a.Sessions.Store(), Worktrees: Worktrees(a.Workspace), Summarise: a.Tasks.Summarise}
}

// isolate makes a git worktree for a session, and tools that work in it.
func (a *Worker) isolate(ctx context.Context, from, id string) (*workdir.Dir, error) {
	w, err := Worktrees(a.Workspace).Create(ctx, from, id)
	if err != nil {
		return nil, err
	}
	files, err := a.files.OpenWorktree(w)
	if err != nil {
		return nil, errors.Join(err, w.Discard(context.WithoutCancel(ctx)))
	}
	place := a.languages.In(files)
	in := func(dir string) []tool.Tool { return a.with(BuiltinTools(a.program, files, place, dir)) }
	return &workdir.Dir{Worktree: w, Paths: files.Paths(), Tools: in(""), In: in, Servers: a.servers.In(files), Close: files.Close}, nil
}

// Serve opens what a server needs, with a log, and closes it when do returns. It reports
// what is wrong with the agent files. With stays the worker also continues subagents of
// killed workers.
func (p *Program) Serve(ctx context.Context, stays bool, do func(*Worker) error) (err error) {
	endLog, err := p.KeepLog()
	if err != nil {
		return err
	}
	defer endLog()
	a, err := p.openWorker(ctx, attendance{serves: true, stays: stays})
	if err != nil {
		if ctx.Err() != nil {
			return nil // it was told to end before it had begun
		}
		return err
	}
	defer func() { err = p.served(ctx, errors.Join(err, a.Close())) }()
	p.ReportDiagnostics(a.Agents.Snapshot())
	ReportFolders(p, a.Agents.Snapshot())
	return do(a)
}

// served returns how a server has ended. A signal is the normal way to end it, so it is
// never an interruption: an error that comes with it is a failure.
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
	if a.servers != nil {
		errs = append(errs, a.servers.Close(), a.languages.Close())
	}
	a.hooks.Close()
	errs = append(errs, a.notifier.Close())
	if a.files != nil {
		errs = append(errs, a.files.Close())
	}
	if a.Agents != nil {
		a.Agents.Close()
		a.announced.Wait()
	}
	if a.Audit != nil {
		errs = append(errs, a.Audit.Close())
	}
	return errors.Join(append(errs, a.Storage.Close())...)
}

// Report lists this worker among those of the workspace, with what it does at the time.
// serving says that it takes calls over NATS.
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

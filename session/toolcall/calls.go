// Package toolcall makes the tool calls of a session: the gate decides on a call, the tool
// runs, and the outcome is published. It is the only caller of a tool.
package toolcall

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentworker/worker/hooks"
	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/journal"
	"github.com/agentworker/worker/session/lifetime"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/review"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/session/toolset"
	"github.com/agentworker/worker/tool"
)

// Process is what the calls of all sessions of a process share. Its fields do not change.
type Process struct {
	Policy     gate.Policy
	Hooks      *hooks.Runner // nil means there are none
	Store      *store.Store
	Audit      audit.Recorder
	Approver   approval.Approver // answers for sessions without one of their own; nil means nobody does
	Unattended bool              // nobody can answer here, except an approver
	Alone      bool              // nobody can be asked: there is neither a terminal nor a door
	ToolTime   time.Duration     // for one call of a tool without a limit of its own
	AnswerTime time.Duration     // for which a call waits for an answer
	Parallel   int               // calls of one step that run at once, if they don't delegate
	BootID     string
	Log        *slog.Logger

	Present func(ctx context.Context) (where string) // where somebody else may answer; see session.Options
	Live    func(id string) (record.Record, bool)    // the record of a session that runs here
	Counted func()                                   // called for each call
}

// Calls are the tool calls of a session. Tools and AgentHooks change between two steps only; all else is
// safe for concurrent use.
type Calls struct {
	Tools *toolset.Set
	Rules gate.Rules
	Paths permission.Workspace // what paths of the tools are relative to
	Audit Audit

	AgentHooks []*hookconfig.Hook // of the agent's file
	HooksAbove []*hookconfig.Hook // of the files of the agents above, for calls of tools

	PutBack func(args string) string // puts credentials that models don't read into the arguments of a call; nil changes nothing

	// Review has a reviewer judge a call that rules ask about, before a person is asked; nil means
	// there is none. Task is what it knows of the work.
	Review func(ctx context.Context, t *review.Task, c review.Call) review.Verdict
	Task   *review.Task

	Background tool.Background // keeps commands that go on; nil means none can

	p        *Process
	log      *journal.Journal
	life     *lifetime.Life
	approver approval.Approver // nil means nobody answers here
	waiting  waiting
}

// New returns the calls of a session. A nil approver means the one of the process.
func New(p *Process, log *journal.Journal, life *lifetime.Life, approver approval.Approver) *Calls {
	if approver == nil {
		approver = p.Approver
	}
	return &Calls{Audit: Audit{p, log}, p: p, log: log, life: life, approver: approver}
}

// Make takes a call through the gate, runs it, and publishes the outcome. What [Calls.start]
// has done of it is not done again. It does not panic.
func (s *Calls) Make(ctx context.Context, c *Call) {
	c.calls = s
	s.Try(ctx, c)
	c.leave()
	c.Prepared, c.admitted = nil, nil // what they hold is not kept until the others of the step are over
}

// Try is Make for a call whose outcome is not published.
func (s *Calls) Try(ctx context.Context, c *Call) {
	if c.admitted == nil && !c.over {
		s.admitGuarded(ctx, c)
	}
	if c.admitted != nil && !c.over {
		s.run(ctx, c)
		hooked{s}.tellHooks(ctx, c)
	}
}

func (s *Calls) admitGuarded(ctx context.Context, c *Call) {
	defer s.guard(c)
	s.admit(ctx, c, true)
}

// guard makes a panic an error of the call: it must not end the other sessions of the
// process. It is deferred.
func (s *Calls) guard(c *Call) {
	if p := recover(); p != nil {
		s.p.Log.Error("a tool call panicked", "tool", c.Name, "session", s.log.ID, "panic", p, "stack", string(debug.Stack()))
		c.End(Result{Result: tool.Errorf("%s failed with an internal error: %v", c.Name, p)})
	}
}

// MakeAll makes the calls of one message side by side, and returns their results in the order
// of the calls. Calls that have an outcome are not made. A call that was admitted before is
// not decided on again; of any other refused says why it is not made, or nothing.
func (s *Calls) MakeAll(ctx context.Context, all []*Call, refused func(*Call) (reason string)) []model.ToolResult {
	var delegated, others []*Call
	for _, c := range all {
		if c.tool == nil {
			c.tool = s.Tools.Get(c.Name)
		}
		switch {
		case c.returned:
		case c.admitted == nil && refused(c) != "":
			c.start, c.calls = time.Now(), s
			c.Return(tool.Errorf("%s", refused(c)))
		case c.tool != nil && c.tool.Spec().Delegates:
			delegated = append(delegated, c)
		default:
			others = append(others, c)
		}
	}
	if len(delegated) == 0 && len(others) == 1 {
		s.Make(ctx, others[0])
	} else {
		s.makeParallel(ctx, delegated, others)
	}
	results := make([]model.ToolResult, len(all))
	for i, c := range all {
		results[i] = model.ToolResult{ToolCallID: c.ID, Text: c.res.Text, Images: c.images, IsError: c.res.IsError}
	}
	return results
}

// makeParallel makes calls side by side. Calls of tools that delegate wait for nothing here;
// of the others, [Process.Parallel] run at once.
func (s *Calls) makeParallel(ctx context.Context, delegated, others []*Call) {
	var running sync.WaitGroup
	s.startAll(ctx, delegated, &running)
	slots := make(chan struct{}, s.p.Parallel)
	for _, c := range others {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			s.Make(ctx, c)
		})
	}
	running.Wait()
}

// starters is how many calls of tools that delegate are started at once. The stacks of the
// goroutines that start calls grow; those of calls that wait don't.
const starters = 8

// startAll starts calls in their order, and has each of them run in a goroutine of its own.
func (s *Calls) startAll(ctx context.Context, calls []*Call, running *sync.WaitGroup) {
	if len(calls) == 1 {
		s.goMake(ctx, calls[0], running)
		return
	}
	var next atomic.Int64
	for range min(starters, len(calls)) {
		running.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(calls)); i = next.Add(1) - 1 {
				s.start(ctx, calls[i])
				s.goMake(ctx, calls[i], running)
			}
		})
	}
}

// start does what needs no waiting for a call.
func (s *Calls) start(ctx context.Context, c *Call) {
	defer s.guard(c)
	if c.admitted == nil && !c.over {
		s.admit(ctx, c, false)
	}
	if b, ok := c.Prepared.(tool.Beginner); ok && c.admitted != nil && c.tool.Spec().Delegates {
		b.Begin(ctx, c.admitted)
	}
}

// goMake makes a call in a goroutine of its own. running counts the call until it has its
// outcome.
func (s *Calls) goMake(ctx context.Context, c *Call, running *sync.WaitGroup) {
	running.Add(1)
	c.running = running
	go s.Make(ctx, c)
}

// EndSession ends what the session's calls have left, such as processes.
func (s *Calls) EndSession() {
	for _, name := range s.Tools.Names() {
		if t, ok := s.Tools.Get(name).(tool.Ender); ok {
			if err := t.EndSession(s.log.ID); err != nil {
				s.p.Log.Error("ending what a session's commands have left", "session", s.log.ID, "err", err)
			}
		}
	}
}

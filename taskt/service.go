package taskt

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/instructions"
	"github.com/agentworker/worker/agentdefs/skills"
	"github.com/agentworker/worker/model/price"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/toolset"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/taskt/input"
	"github.com/agentworker/worker/taskt/offer"
	"github.com/agentworker/worker/taskt/slots"
	"github.com/agentworker/worker/taskt/workdir"
	"github.com/agentworker/worker/tool"
)

// Input is what a call of the task tool says.
type Input = input.Input

// Models are the models that an [Input] names, the best first.
type Models = input.Models

// Result is the outcome of a task.
type Result = control.Result

// Document is a result as programs read it.
type Document = control.Document

// Options configures a [Service].
type Options struct {
	Sessions *session.Manager
	Agents   Agents
	Root     string      // the workspace's folder
	Shell    string      // the path of the shell that runs commands, for system prompts; empty means not known
	Tools    []tool.Tool // the tools that children may be offered, besides task

	// SharedFiles says that all workers of the workspace have the same files, on whatever
	// machine. Otherwise a worker takes over only sessions that worked in its own Root.
	SharedFiles bool

	// LocalStore says that all workers of the workspace are on this machine.
	LocalStore bool

	// Servers are the MCP servers whose tools children may be offered; nil means none.
	Servers workdir.Servers

	// In returns the same tools for sessions whose commands begin in a folder of the
	// workspace, by its path there. nil means calls can't name one.
	In func(folder string) []tool.Tool

	// Isolate makes a worktree for the session of an id, from the files in a folder: for
	// agents whose file says isolation: worktree. nil means they can't be run.
	Isolate func(ctx context.Context, from, id string) (*workdir.Dir, error)

	// Rules are added at the end of every agent's own: what no agent file may loosen. They
	// deny.
	Rules []permission.Rule

	// Memory is the file that agents with a memory read and add to: see package memory. Empty
	// means none has one.
	Memory string

	// Instructions are what the workspace and the user say to all agents; nil means only what
	// Root has.
	Instructions *instructions.Reader

	// Skills are those of the workspace and of the user; nil means there are none.
	Skills *skills.Library

	// AgentModels are the models of agents whose files and calls name none, by the agents'
	// names in lower case.
	AgentModels map[string]string

	// AgentEfforts are words of [model.Efforts] for agents whose files and calls have none, by
	// the agents' names in lower case.
	AgentEfforts map[string]string

	// Router picks the models of subagents for which none is named; nil means no router.
	Router session.Router

	// Budget is what a caller's task, or a primary agent, may use with all below it.
	Budget Budget

	// Above are budgets that hold as well, whatever Budget says.
	Above  []BudgetAbove
	Prices *price.Table // as the sessions have them; nil means none is known

	Limits Limits
	Logger *slog.Logger // nil discards them
}

// Service runs tasks.
type Service struct {
	sessions *session.Manager
	control  *control.Control
	agents   Agents
	offers   *offer.Source
	plans    *planner
	budgets  *budgets
	limits   Limits
	router   session.Router // nil means none
	forHosts func() (*toolset.Set, error)

	places   *workdir.Places // where its sessions work
	planning sync.Map        // the children that may become another agent, by their ids

	slots    *slots.Pool
	detached detached
	awaited  awaited
	hosts    atomic.Pointer[Offer] // of the snapshot that was asked for last
	log      *slog.Logger
}

// Agent is an agent that a host may call, as hosts see it.
type Agent struct {
	Name        string   `json:"name"`
	Aliases     []string `json:"aliases,omitempty"`
	Description string   `json:"description"`
}

// Offer is what hosts are offered of one snapshot. It is made once for each, and nobody changes
// it.
type Offer struct {
	Version uint64 // of the snapshot

	// Agents are those whose files let a host call them, by name, without hidden ones. A
	// hidden one can be called by its name all the same.
	Agents []Agent

	// ReadOnlyAgents are the names of the agents that can't change anything, because their own
	// rules deny every tool that could. The workspace's rules don't count, since they may
	// change at any time.
	ReadOnlyAgents []string

	// ReadOnly says that the same holds for all agents that a host can call, hidden ones
	// among them.
	ReadOnly bool

	snapshot *agentdefs.Snapshot
	offer    *offer.Offer
}

// Spec describes the task tool: its name, text and input schema. It is made once for each
// presentation.
func (o *Offer) Spec(as input.Presentation) tool.Spec { return o.offer.Spec(as) }

// sameAs reports whether hosts see the same in both.
func (o *Offer) sameAs(other *Offer) bool {
	return o.ReadOnly == other.ReadOnly && slices.Equal(o.ReadOnlyAgents, other.ReadOnlyAgents) &&
		slices.EqualFunc(o.Agents, other.Agents, func(a, b Agent) bool { return a.Name == b.Name && a.Description == b.Description })
}

// Control returns what callers do with the subagents that they have.
func (s *Service) Control() *control.Control { return s.control }

// Load returns how busy the service is now.
func (s *Service) Load() slots.Load {
	load := s.slots.Load()
	if s.Draining() {
		load.Capacity = 0 // others take the calls
	}
	return load
}

// OpenCalls returns [Limits.OpenCalls] of the service.
func (s *Service) OpenCalls() int { return s.limits.OpenCalls() }

// Totals returns what the sessions of this process have used.
func (s *Service) Totals() session.Totals { return s.sessions.Totals() }

// Running returns how many sessions run in this process, by their agents: see
// [session.Manager.Running].
func (s *Service) Running() map[string]int { return s.sessions.Running() }

// Close ends the detached subagents, and returns when they have ended. No further ones begin.
func (s *Service) Close() { s.detached.close() }

// detached runs the subagents that may outlive their callers.
type detached struct {
	mu      sync.Mutex
	ctx     context.Context // ends with close; nil means nothing has begun
	cancel  context.CancelCauseFunc
	closed  bool
	running sync.WaitGroup
}

func (d *detached) begin(f func(ctx context.Context)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return slots.ErrClosed
	}
	if d.ctx == nil {
		d.ctx, d.cancel = context.WithCancelCause(context.Background())
	}
	d.running.Go(func() { f(d.ctx) })
	return nil
}

// close ends all of them, and returns when they have ended.
func (d *detached) close() {
	d.mu.Lock()
	d.closed = true
	if d.cancel != nil {
		d.cancel(cancelled("the worker has ended"))
	}
	d.mu.Unlock()
	d.running.Wait()
}

// cancelled is the cause of the end of a run that was cancelled for a reason.
type cancelled string

func (c cancelled) Error() string { return string(c) }

// Is reports whether target is [context.Canceled].
func (cancelled) Is(target error) bool { return target == context.Canceled }

// awaited are the calls of hosts whose callers wait for the answer. It is safe for concurrent
// use.
type awaited struct {
	mu     sync.Mutex
	closed bool
	runs   map[*Run]bool
	none   chan struct{} // closed when none is left; nil means nobody waits for that
}

// add notes a call until it has ended, or is moved to the background. No further calls begin
// once it is closed.
func (a *awaited) add(r *Run) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return slots.ErrClosed
	}
	if r.background {
		return nil
	}
	if a.runs == nil {
		a.runs = make(map[*Run]bool)
	}
	a.runs[r] = true
	return nil
}

// remove notes that nobody waits for a call any more.
func (a *awaited) remove(r *Run) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.runs, r)
	if a.none != nil && len(a.runs) == 0 {
		close(a.none)
		a.none = nil
	}
}

// close lets no further calls begin, and returns a channel that is closed when none is left.
func (a *awaited) close() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	none := make(chan struct{})
	if len(a.runs) == 0 {
		close(none)
	} else {
		a.none = none
	}
	return none
}

// Refuse has no further call of a host begin.
func (s *Service) Refuse() {
	s.awaited.mu.Lock()
	defer s.awaited.mu.Unlock()
	s.awaited.closed = true
}

// Draining reports whether no further calls of hosts begin.
func (s *Service) Draining() bool {
	s.awaited.mu.Lock()
	defer s.awaited.mu.Unlock()
	return s.awaited.closed
}

// Drain prepares the end of the service: no call of a host begins any more. Until ctx ends it
// waits for the calls whose callers wait, and for the steps of those in the background. Then
// the former are cancelled, and the latter left to the next worker that resumes sessions. It
// returns how many sessions are.
func (s *Service) Drain(ctx context.Context) (handedOver int) {
	none := s.awaited.close()
	select {
	case <-none:
	case <-ctx.Done():
		s.awaited.mu.Lock()
		for r := range s.awaited.runs {
			r.cancel(cancelled("the worker has ended"))
		}
		s.awaited.mu.Unlock()
		<-none
	}
	if s.limits.Takeovers == 0 {
		return 0
	}
	c := &claimer{service: s}
	return s.sessions.HandOver(ctx, c.May)
}

package taskt

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/model/price"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/taskt/instructions"
	"github.com/agentworker/worker/taskt/memory"
	"github.com/agentworker/worker/taskt/planexit"
	"github.com/agentworker/worker/taskt/slots"
	"github.com/agentworker/worker/tool"
)

// Agents is where the agents of the moment come from.
type Agents interface {
	Snapshot() *agentdefs.Snapshot

	// Changes yields the snapshot in force, and then each later one, until ctx
	// ends or there will be none any more.
	Changes(ctx context.Context) iter.Seq[agentdefs.Change]
}

// Options configures a [Service].
type Options struct {
	Sessions *session.Manager
	Agents   Agents
	Root     string      // the workspace's folder, for system prompts
	Tools    []tool.Tool // the tools that children may be offered, besides task

	// In returns the same tools for a session whose commands begin in a folder of the
	// workspace, by its path there: for calls that name one. nil means they can't be made.
	In func(dir string) []tool.Tool

	// Isolate makes a place for the session of an id, of the files that lie in the
	// folder from now: for agents whose file says isolation: worktree. nil means they
	// can't be run.
	Isolate func(ctx context.Context, from, id string) (*Place, error)

	// Rules are added at the end of every agent's own: what no agent file may
	// loosen. Rules that deny, since an agent layer can't be loosened by others.
	Rules []permission.Rule

	// Memory is the file that agents with a memory read, and add to: see package
	// memory. Empty means none has one.
	Memory string

	// AgentModels are the models of agents whose files and calls name none, by the
	// agents' names in lower case.
	AgentModels map[string]string

	// AgentEfforts are words of [model.Efforts], for agents whose files and calls say none, by
	// the agents' names in lower case.
	AgentEfforts map[string]string

	// Router picks the models of subagents for which none is named; nil means nobody does.
	Router session.Router

	// Budget is what a caller's task, or a primary agent, may use with all below it.
	Budget Budget

	// Above are budgets that hold besides, whatever Budget says.
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
	root     string
	text     *instructions.Reader // of the workspace
	memory   *memory.Memory       // nil means there is none
	tools    []tool.Tool          // without task
	forHosts func() (*gate.ToolSet, error)
	in       func(dir string) []tool.Tool
	isolate  func(ctx context.Context, from, id string) (*Place, error)
	places   places
	planning sync.Map // the calls of sessions that may go on as another agent, by their ids
	claims   claims
	rules    []permission.Rule
	limits   Limits
	spend    Budget
	above    []BudgetAbove

	agentModels map[string]string
	efforts     map[string]string // by the names of agents
	router      session.Router    // nil means none

	prices   *price.Table
	slots    *slots.Pool
	detached detached
	made     atomic.Pointer[offers] // of the snapshot that was asked for last
	log      *slog.Logger
}

// New returns a service. It fails if a limit is out of its range.
func New(opts Options) (*Service, error) {
	if err := opts.Limits.Check(); err != nil {
		return nil, err
	}
	s := &Service{
		sessions: opts.Sessions,
		control:  control.New(opts.Sessions.Store()),
		agents:   opts.Agents,
		root:     opts.Root,
		in:       opts.In,
		isolate:  opts.Isolate,
		rules:    opts.Rules,
		limits:   opts.Limits.withDefaults(),
		spend:    opts.Budget,
		above:    opts.Above,

		agentModels: opts.AgentModels,
		efforts:     opts.AgentEfforts,
		router:      opts.Router,
		prices:      opts.Prices,
		log:         opts.Logger,
	}
	s.slots = slots.New(s.limits.Depth, s.limits.Running, s.limits.PerParent)
	s.text = instructions.NewReader(opts.Root, opts.Logger)
	if opts.Memory != "" {
		s.memory = memory.New(opts.Memory, opts.Logger)
	}
	s.tools = slices.Clone(opts.Tools)
	s.forHosts = sync.OnceValues(func() (*gate.ToolSet, error) { return gate.NewToolSet(s.toolsOf(host)...) })
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s, nil
}

// Load returns how busy the service is now.
func (s *Service) Load() slots.Load { return s.slots.Load() }

// Totals returns what the sessions of this process have used.
func (s *Service) Totals() session.Totals { return s.sessions.Totals() }

// Running returns how many sessions run in this process, by their agents: see
// [session.Manager.Running].
func (s *Service) Running() map[string]int { return s.sessions.Running() }

// Control returns what callers do with the subagents that they have.
func (s *Service) Control() *control.Control { return s.control }

// toolsOf returns all tools of a caller's session: its task tool, and those for
// the subagents that it has, are among them.
func (s *Service) toolsOf(by caller) []tool.Tool {
	return s.withTask(s.tools, by)
}

// withTask returns tools, and those of a caller's session that are there beside
// them.
func (s *Service) withTask(tools []tool.Tool, by caller) []tool.Tool {
	offered := func() bool { return !s.offers().of(by).spec.Unavailable }
	return slices.Concat(tools, []tool.Tool{&taskTool{s, by}, &agentsTool{s, by}}, s.sessions.Notes(), s.control.Tools(toolName, control.Hooks{Offered: offered, Told: s.knows, Resume: s.resumeBelow(by)}))
}

// Spec describes the task tool as of now, for front doors that offer it to a
// host: its name, text and input schema. It is made once for each snapshot.
func (s *Service) Spec() tool.Spec { return s.offers().forHosts() }

// SpecFor is [Service.Spec] for a host to which the tool is put in its own way.
func (s *Service) SpecFor(as Presentation) tool.Spec {
	if as == presented {
		return s.Spec()
	}
	return newSpec(s.offers().of(host).agents, as)
}

// OfferChanges yields each time that the task tool for hosts changes: its text,
// its agents, [Service.ReadOnly], or which of the agents are read-only. The first
// comparison is with the time of the call. It ends with ctx.
func (s *Service) OfferChanges(ctx context.Context) iter.Seq[struct{}] {
	last := s.offered()
	return func(yield func(struct{}) bool) {
		for range s.agents.Changes(ctx) {
			now := s.offered()
			if now == last {
				continue
			}
			if last = now; !yield(struct{}{}) {
				return
			}
		}
	}
}

// offered is what hosts see of the task tool, to be compared.
func (s *Service) offered() string {
	spec := s.Spec()
	return fmt.Sprintf("%s\x00%s\x00%v %v", spec.Description, spec.InputSchema, s.ReadOnly(), s.ReadOnlyAgents())
}

// Agent is an agent that a host may call, as hosts see it.
type Agent struct {
	Name        string   `json:"name"`
	Aliases     []string `json:"aliases,omitempty"`
	Description string   `json:"description"`
}

// Agents returns the agents that a host is offered now, in the order of their
// names: those whose files let a host call them, without hidden ones. A hidden
// one can be called by its name all the same.
func (s *Service) Agents() []Agent {
	var agents []Agent
	for _, d := range s.offers().of(host).agents {
		agents = append(agents, Agent{Name: d.Name, Aliases: d.Aliases, Description: d.Description})
	}
	return agents
}

// OpenCaller opens the root session of a caller that makes its own calls: a
// command line, a connected host. Its calls have been decided on by whoever
// makes them, so that "ask" counts as answered; a deny holds. by is who asks for them.
func (s *Service) OpenCaller(ctx context.Context, description string, by store.Person) (*session.Session, error) {
	return s.openCaller(ctx, session.Spec{Description: description, AskedBy: by})
}

// OpenCallerOn is [Service.OpenCaller] for a caller that makes call after call,
// as a connected host does ([session.Spec.Lasting]). Children that name no
// model run on model, if it is not nil.
func (s *Service) OpenCallerOn(ctx context.Context, description string, by store.Person, model session.Model) (*session.Session, error) {
	return s.openCaller(ctx, session.Spec{Description: description, AskedBy: by, CallerModel: model, Lasting: true})
}

func (s *Service) openCaller(ctx context.Context, spec session.Spec) (*session.Session, error) {
	var err error
	if spec.ToolSet, err = s.forHosts(); err != nil {
		return nil, err
	}
	spec.Approver = gate.AlwaysYes
	return s.sessions.Open(ctx, spec)
}

// plan is how the sessions of an agent are opened, as long as the workspace says the
// same to it.
type plan struct {
	text   *instructions.Text
	memory *memory.Text
	spec   session.Spec
}

// planKey is what the session of an agent depends on.
type planKey struct {
	def   *agentdefs.Definition
	depth int // 0 means a primary agent's own session, 1: its children's
}

// spec returns the session in which an agent runs at a depth. It is made once for
// each agent of a snapshot: its sessions share all that does not change.
func (s *Service) spec(def *agentdefs.Definition, depth int) (session.Spec, error) {
	r, key, text, remembered := s.offers(), planKey{def, depth}, s.text.Current(), s.remembered(def)
	r.mu.Lock()
	made := r.plans[key]
	r.mu.Unlock()
	if made != nil && made.text == text && made.memory == remembered {
		return made.spec, nil
	}
	spec, err := s.newSpec(def, Setting{Root: s.root, Child: depth > 0, Text: text, Memory: remembered}, depth)
	if served, ok := r.snapshot.Agent(def.Name); err == nil && ok && served == def { // any other is its caller's alone
		r.mu.Lock()
		r.plans[key] = &plan{text, remembered, spec}
		r.mu.Unlock()
	}
	return spec, err
}

// remembered is what agents have remembered of the workspace, for one that has a memory.
func (s *Service) remembered(def *agentdefs.Definition) *memory.Text {
	if s.memory == nil || !def.Memory {
		return nil
	}
	return s.memory.Current()
}

// toolSet returns the tools of an agent's sessions, of which some are given.
func (s *Service) toolSet(def *agentdefs.Definition, tools []tool.Tool) (*gate.ToolSet, error) {
	all := s.withTask(tools, callerOf(def))
	if s.memory != nil && def.Memory {
		all = append(all, s.memory.Tool())
	}
	if def.PlanExit != "" {
		all = append(all, planexit.Tool(def.PlanExit, func() (planexit.Next, error) { return s.successor(def) }))
	}
	return gate.NewToolSet(all...)
}

func (s *Service) newSpec(def *agentdefs.Definition, at Setting, depth int) (session.Spec, error) {
	rules, err := AgentRules(def, s.rules, depth, s.limits.Depth)
	if err != nil {
		return session.Spec{}, err
	}
	accept, err := acceptor(def.Output)
	if err != nil {
		return session.Spec{}, err
	}
	tools, err := s.toolSet(def, s.tools)
	if err != nil {
		return session.Spec{}, err
	}
	spec := session.Spec{
		Agent:      def.Name,
		System:     SystemPrompt(def, at),
		Models:     s.models(def),
		Params:     params(def),
		ToolSet:    tools,
		Compaction: helper(s.agents.Snapshot().Special(agentdefs.Compaction)),
		Accept:     accept,
		Checks:     checksOf(def.Checks),
		Rules:      rules,
		MaxSteps:   def.MaxSteps,
		TimeLimit:  def.Timeout,
		Stall:      cmp.Or(def.Stall, s.limits.Stall),

		StallNotice: s.limits.StallNotice,
	}
	if depth > 0 {
		spec.TimeLimit = cmp.Or(spec.TimeLimit, s.limits.ChildTime)
	}
	spec.TimeLimit = s.limits.within(spec.TimeLimit)
	spec.Params.Effort, spec.Warnings = effort(def.Effort, s.efforts[strings.ToLower(def.Name)])
	spec.Terms = newTerms(rules, nil)
	return spec, nil
}

// AgentRules returns the ruleset of an agent's session at a depth: the agent's
// own rules, then those in own, which no file can lift, and where nesting ends,
// at maxDepth, one that denies task.
func AgentRules(def *agentdefs.Definition, own []permission.Rule, depth, maxDepth int) (*permission.Ruleset, error) {
	if depth >= maxDepth {
		own = append(slices.Clone(own), noTask)
	}
	return def.Permission.Append(own...)
}

var noTask = permission.Rule{
	Tool: toolName, Pattern: "*", Action: permission.Deny,
	Source: permission.Source{File: "nesting limit"},
}

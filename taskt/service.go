package taskt

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
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
	Tools    []tool.Tool // what children may be offered, besides task

	// Rules are added at the end of every agent's own: what no agent file may
	// loosen. Rules that deny, since an agent layer can't be loosened by others.
	Rules []permission.Rule

	Limits Limits
	Logger *slog.Logger // nil: discard
}

// Service runs tasks.
type Service struct {
	sessions *session.Manager
	agents   Agents
	root     string
	tools    []tool.Tool // without task
	rules    []permission.Rule
	limits   Limits
	slots    *slots
	made     atomic.Pointer[offers] // of the snapshot that was asked for last
	log      *slog.Logger
}

// New returns a service. It fails where a limit is out of its range.
func New(opts Options) (*Service, error) {
	if err := opts.Limits.Check(); err != nil {
		return nil, err
	}
	s := &Service{
		sessions: opts.Sessions,
		agents:   opts.Agents,
		root:     opts.Root,
		rules:    opts.Rules,
		limits:   opts.Limits.withDefaults(),
		log:      opts.Logger,
	}
	s.slots = newSlots(s.limits)
	s.tools = slices.Clone(opts.Tools)
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s, nil
}

// toolsOf returns all tools of a caller's session, its task tool among them.
func (s *Service) toolsOf(caller string) []tool.Tool {
	return append(slices.Clone(s.tools), &taskTool{s, caller})
}

// Spec describes the task tool as of now, for front doors that offer it to a
// host: its name, text and input schema. It is made once for each snapshot.
func (s *Service) Spec() tool.Spec { return s.offers().of(agentdefs.Host).spec }

// SpecFor is [Service.Spec] for a host to which the tool is put in its own way.
func (s *Service) SpecFor(as Presentation) tool.Spec {
	if as == presented {
		return s.Spec()
	}
	return newSpec(s.offers().of(agentdefs.Host).agents, as)
}

// OfferChanges yields each time that hosts are offered another task tool than
// before, for the first time than when it is called: another text, other agents,
// or [Service.ReadOnly] where it was not. It ends with ctx.
func (s *Service) OfferChanges(ctx context.Context) iter.Seq[struct{}] {
	offered, offeredReadOnly := s.Spec(), s.ReadOnly()
	return func(yield func(struct{}) bool) {
		last, lastReadOnly := offered, offeredReadOnly
		for range s.agents.Changes(ctx) {
			spec, readOnly := s.Spec(), s.ReadOnly()
			if spec.Description == last.Description && bytes.Equal(spec.InputSchema, last.InputSchema) && readOnly == lastReadOnly {
				continue
			}
			if last, lastReadOnly = spec, readOnly; !yield(struct{}{}) {
				return
			}
		}
	}
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
	for _, d := range s.offers().of(agentdefs.Host).agents {
		agents = append(agents, Agent{Name: d.Name, Aliases: d.Aliases, Description: d.Description})
	}
	return agents
}

// OpenCaller opens the root session of a caller that makes its own calls: a
// command line, a connected host. Its calls have been decided on by whoever
// makes them, so that "ask" counts as answered; a deny holds.
func (s *Service) OpenCaller(ctx context.Context, description string) (*session.Session, error) {
	return s.sessions.Open(ctx, s.caller(description))
}

// OpenCallerOn is [Service.OpenCaller] for a caller that makes call after call,
// as a connected host does ([session.Spec].Lasting), and may bring a model along,
// on which its children run that name none; nil: it brings none.
func (s *Service) OpenCallerOn(ctx context.Context, description string, model session.Model) (*session.Session, error) {
	spec := s.caller(description)
	spec.CallerModel, spec.Lasting = model, true
	return s.sessions.Open(ctx, spec)
}

func (s *Service) caller(description string) session.Spec {
	return session.Spec{
		Description: description,
		Tools:       s.toolsOf(agentdefs.Host),
		Approver:    session.AlwaysYes,
	}
}

// OpenPrimary opens the root session of a primary agent, which may call task.
func (s *Service) OpenPrimary(ctx context.Context, def *agentdefs.Definition, description string) (*session.Session, error) {
	spec, err := s.spec(def, 0)
	if err != nil {
		return nil, err
	}
	spec.Description = description
	return s.sessions.Open(ctx, spec)
}

// run runs a task as a child of parent and fills in its result.
func (s *Service) run(ctx context.Context, parent *session.Session, messageID string, def *agentdefs.Definition, in Input, result *Result) {
	depth := len(parent.Path())
	if depth > s.limits.Depth {
		result.fail(ctx, fmt.Errorf("agents may nest %d deep, and this one already does", s.limits.Depth))
		return
	}
	spec, err := s.spec(def, depth)
	if err != nil {
		result.fail(ctx, err)
		return
	}
	spec.Parent, spec.ParentMessageID, spec.Description = parent, messageID, in.Description
	spec.TimeLimit = cmp.Or(spec.TimeLimit, s.limits.ChildTime)
	child, err := s.sessions.Open(ctx, spec)
	if err != nil {
		result.fail(ctx, err)
		return
	}
	open(ctx, parent.ID(), child.ID())
	outcome := s.prompt(ctx, parent, child, depth, in.Prompt)
	if err := child.End(outcome.Status, outcome.Err); err != nil {
		s.log.Error("ending a session", "session", child.ID(), "err", err)
		if outcome.Err == nil { // the answer must not be handed out with events missing
			outcome = session.Outcome{Status: session.Failed, Err: err}
		}
	}
	result.SessionID = child.ID()
	result.Record = child.Record()
	result.Status = outcome.Status
	result.Duration = result.Record.Duration(time.Now())
	if outcome.Err != nil {
		result.fail(ctx, outcome.Err)
		return
	}
	result.Text = outcome.Text
}

// spec returns the session in which an agent runs at a depth: 0 is a primary
// agent's own session, 1 its children's.
func (s *Service) spec(def *agentdefs.Definition, depth int) (session.Spec, error) {
	rules, err := AgentRules(def, s.rules, depth, s.limits.Depth)
	if err != nil {
		return session.Spec{}, err
	}
	accept, err := acceptor(def.Output)
	if err != nil {
		return session.Spec{}, err
	}
	return session.Spec{
		Agent:  def.Name,
		System: SystemPrompt(s.root, def, depth > 0),
		Model:  def.Model,
		Params: session.Params{
			MaxOutputTokens: def.MaxOutputTokens,
			Temperature:     def.Temperature,
			TopP:            def.TopP,
			Effort:          def.Effort,
		},
		Tools:     s.toolsOf(callerOf(def)),
		Accept:    accept,
		Rules:     rules,
		MaxSteps:  def.MaxSteps,
		TimeLimit: min(def.Timeout, maxChildTime),
	}, nil
}

// prompt runs the child once it has a slot.
func (s *Service) prompt(ctx context.Context, parent, child *session.Session, depth int, prompt string) session.Outcome {
	ctx, free := child.Bound(ctx)
	defer free()
	resume := parent.HoldTime()
	release, err := s.slots.take(ctx, parent.ID(), depth)
	resume()
	if err != nil {
		return session.Outcome{Status: session.Cancelled, Err: fmt.Errorf("the task was cancelled before it began: %w", err)}
	}
	defer release()
	return child.Prompt(ctx, prompt)
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

package taskt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/tool"
)

// Agents is where the agents of the moment come from.
type Agents interface {
	Snapshot() *agentdefs.Snapshot
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
	tools    []tool.Tool
	rules    []permission.Rule
	limits   Limits
	places   *places
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
	s.places = newPlaces(s.limits)
	s.tools = append(append(s.tools, opts.Tools...), &taskTool{s})
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s, nil
}

// Tools returns all tools of a session, the task tool among them.
func (s *Service) Tools() []tool.Tool { return s.tools }

// Spec describes the task tool as of now, for front doors that offer it to a
// host: its name, text and input schema.
func (s *Service) Spec() tool.Spec { return (&taskTool{s}).Spec() }

// Agent is an agent that task may call, as hosts see it.
type Agent struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Agents returns the agents that task may call now, in the order of their names.
func (s *Service) Agents() []Agent {
	var agents []Agent
	for _, d := range s.agents.Snapshot().Subagents() {
		agents = append(agents, Agent{Name: d.Name, Description: d.Description})
	}
	return agents
}

// OpenCaller opens the root session of a caller that makes its own calls: a
// command line, a connected host. Its calls have been decided on by whoever
// makes them, so that "ask" counts as answered; a deny holds.
func (s *Service) OpenCaller(ctx context.Context, description string) (*session.Session, error) {
	return s.sessions.Open(ctx, session.Spec{
		Description: description,
		Tools:       s.tools,
		Approver:    session.AlwaysYes,
	})
}

// OpenPrimary opens the root session of a primary agent, which may call task.
func (s *Service) OpenPrimary(ctx context.Context, def *agentdefs.Definition, description string) (*session.Session, error) {
	rules, err := def.Permission.Append(s.rules...)
	if err != nil {
		return nil, err
	}
	return s.sessions.Open(ctx, session.Spec{
		Agent:       def.Name,
		Description: description,
		System:      systemPrompt(s.root, def, false),
		Tools:       s.tools,
		Rules:       rules,
		MaxSteps:    def.MaxSteps,
	})
}

// Call makes a task call in a caller's root session and returns its result
// once all of the child's events are stored. The result is never nil.
func (s *Service) Call(ctx context.Context, caller *session.Session, in Input) *Result {
	failed := func(err error, refused bool) *Result {
		return &Result{Agent: in.AgentType, Status: session.Failed, Text: err.Error(), Err: err, Refused: refused}
	}
	args, err := json.Marshal(in)
	if err != nil {
		return failed(err, false)
	}
	res, err := caller.Call(ctx, toolName, args)
	if result, ok := res.Meta[metaResult].(*Result); ok && err == nil {
		return result
	}
	if err == nil {
		err = errors.New(res.Text)
	}
	result := failed(err, res.Refused)
	if ctx.Err() != nil {
		result.Status = session.Cancelled
	}
	return result
}

// run runs a task as a child of parent.
func (s *Service) run(ctx context.Context, parent *session.Session, messageID string, in Input) *Result {
	result := &Result{Agent: in.AgentType, Status: session.Failed}
	fail := func(err error) *Result {
		result.Err, result.Text = err, err.Error()
		if ctx.Err() != nil && result.SessionID == "" {
			result.Status = session.Cancelled
		}
		return result
	}
	def, err := s.find(in.AgentType)
	if err != nil {
		return fail(err)
	}
	result.Agent = def.Name
	depth := len(parent.Path())
	if depth > s.limits.Depth {
		return fail(fmt.Errorf("agents may nest %d deep, and this one already does", s.limits.Depth))
	}
	last := s.rules
	if depth == s.limits.Depth {
		last = append(slices.Clone(last), noTask)
	}
	rules, err := def.Permission.Append(last...)
	if err != nil {
		return fail(err)
	}
	child, err := s.sessions.Open(ctx, session.Spec{
		Parent:          parent,
		ParentMessageID: messageID,
		Agent:           def.Name,
		Description:     in.Description,
		System:          systemPrompt(s.root, def, true),
		Tools:           s.tools,
		Rules:           rules,
		MaxSteps:        def.MaxSteps,
		TimeLimit:       s.limits.ChildTime,
	})
	if err != nil {
		return fail(err)
	}
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
		return fail(outcome.Err)
	}
	result.Text = outcome.Text
	return result
}

// prompt runs the child once it has a place.
func (s *Service) prompt(ctx context.Context, parent, child *session.Session, depth int, prompt string) session.Outcome {
	resume := parent.HoldTime()
	release, err := s.places.take(ctx, parent.ID(), depth)
	resume()
	if err != nil {
		return session.Outcome{Status: session.Cancelled, Err: fmt.Errorf("the task was cancelled before it began: %w", err)}
	}
	defer release()
	return child.Prompt(ctx, prompt)
}

// find returns the agent of a name, or an error that lists those there are.
func (s *Service) find(name string) (*agentdefs.Definition, error) {
	agents := s.agents.Snapshot().Subagents()
	names := make([]string, 0, len(agents))
	for _, a := range agents {
		if a.Name == name {
			return a, nil
		}
		names = append(names, a.Name)
	}
	return nil, &UnknownAgentError{Name: name, Accepted: names}
}

// UnknownAgentError tells that an agentType names no agent that task may call.
type UnknownAgentError struct {
	Name     string
	Accepted []string
}

func (e *UnknownAgentError) Error() string {
	return fmt.Sprintf("unknown agentType %q; accepted: %s", e.Name, strings.Join(e.Accepted, ", "))
}

var noTask = permission.Rule{
	Tool: toolName, Pattern: "*", Action: permission.Deny,
	Source: permission.Source{File: "nesting limit"},
}

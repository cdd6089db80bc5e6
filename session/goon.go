package session

import (
	"fmt"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/conversation"
	"github.com/agentworker/worker/session/store"
)

// successor is the agent as which a session goes on after the step that runs.
type successor struct {
	spec  Spec
	model model.Model
}

// GoOnAs has the session go on as another agent, in the same conversation, after the
// step that runs. It is called by a tool of the session while its call runs; the log has
// it when the call ends. Of spec these count: Agent, System, Models, Params, ToolSet,
// Accept, Checks, Rules, MaxSteps and TimeLimit from then on, WholeTime, and Terms. All else
// stays: the rules of the sessions above, the tools that the session and those above it
// are held to, the place where it works, and its budget. An error says that it stays as it is.
func (s *Session) GoOnAs(spec Spec) error {
	spec.Parent = s.parent
	m, warnings, err := s.m.models.Pick(spec.Agent, spec.Models, spec.callersModel())
	if err != nil {
		return err
	}
	s.mu.Lock()
	before, taken := s.record.Agent, s.next != nil
	if !taken {
		s.next = &successor{spec, m}
	}
	s.mu.Unlock()
	if taken {
		return fmt.Errorf("the session goes on as another agent already")
	}
	s.append(store.AgentEntry(spec.Agent, m.Name(), spec.Terms))
	s.publish(event.AgentChanged{Agent: spec.Agent, Before: before, Model: m.Name()})
	for _, text := range warnings {
		s.warn(text)
	}
	return s.change(func(r *store.Record) error {
		r.Agent, r.Model = spec.Agent, m.Name()
		return nil
	})
}

// succeed has the session go on as the agent that was named during its last step.
func (s *Session) succeed(step int) {
	s.mu.Lock()
	next := s.next
	if next == nil {
		s.mu.Unlock()
		return
	}
	s.next = nil
	s.rules.SetOwn(next.spec.Rules)
	before := s.model
	s.model = next.model
	spec := &next.spec
	if !spec.WholeTime {
		s.timeLimit, s.extra = spec.TimeLimit, 0
		s.clock.Restart(spec.TimeLimit)
	}
	s.mu.Unlock()
	s.system, s.params, s.accept, s.checks = spec.System, spec.Params, spec.Accept, spec.Checks
	s.tools, s.inherited = spec.ToolSet.Only(s.allowed), nil
	s.maxSteps = step + max(1, spec.MaxSteps)
	s.window, s.counted = 0, conversation.Counted{}
	if before.Name() != s.model.Name() {
		s.messages = conversation.WithoutReasoning(s.messages)
	}
}

// Parent returns the session above; nil means it is a root.
func (s *Session) Parent() *Session { return s.parent }

// Denied returns why the rules deny the session a value, whoever is asked; nil means they
// don't.
func (s *Session) Denied(value permission.Value) error {
	rules, err := s.layers(nil)
	if err != nil {
		return err
	}
	if d := rules.Judge([]permission.Value{value}); d.Action == permission.Deny {
		return fmt.Errorf("%s", rules.Reason(d))
	}
	return nil
}

package session

import (
	"fmt"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/conversation"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
)

// Become has the session become another agent, in the same conversation, after the step that
// runs. A tool of the session calls it while its call runs; the log has the change when the call
// ends. It uses these fields of spec: Agent, System, Models, Params, ToolSet, Accept, Checks,
// About, Rules, Hooks, MaxSteps, TimeLimit (which begins anew), WholeTime, and Terms. All else stays: the rules
// of the sessions above, the tools that the session and those above it are held to, its place,
// and its budget. After an error nothing changes.
func (s *Session) Become(spec Spec) error {
	spec.Parent = s.parent
	m, rest, warnings, err := s.p.models.Pick(spec.Agent, spec.Models, spec.callersModel())
	if err != nil {
		return err
	}
	s.agent.mu.Lock()
	named := s.agent.next != nil
	if !named {
		s.agent.next = &successor{
			system: spec.System, model: m, rest: rest, params: spec.Params, accept: spec.Accept, checks: spec.Checks, about: spec.About, rules: spec.Rules, hooks: spec.Hooks,
			tools: spec.ToolSet.Only(s.allowed), maxSteps: spec.MaxSteps, timeLimit: spec.TimeLimit, wholeTime: spec.WholeTime,
		}
	}
	s.agent.mu.Unlock()
	if named {
		return fmt.Errorf("the session goes on as another agent already")
	}
	s.log.Append(log.AgentEntry(spec.Agent, m.Name(), spec.Terms))
	s.log.Publish(event.AgentChanged{Agent: spec.Agent, Before: s.Agent(), Model: m.Name()})
	for _, text := range warnings {
		s.log.Warn(text)
	}
	return s.log.Set(func(r *record.Record) { r.Agent, r.Model = spec.Agent, m.Name() })
}

// Given reports whether the conversation of a session that runs here has a lasting text that
// begins with opening: see [conversation.Conversation.Given]. A tool of the session calls it
// while its call runs.
func (m *Manager) Given(sessionID, callID, opening string) bool {
	s, ok := m.Live(sessionID)
	return ok && s.talk.Given(callID, opening, s.calls.Tools.Lasts)
}

// AllTurns is the number of turns of a whole conversation.
const AllTurns = conversation.AllTurns

// Fork returns the conversation as the model was sent it when it made the calls that run now:
// the last turns, or [AllTurns]. A turn begins with a message to the model that is not the result
// of calls. A tool of the session calls Fork while its call runs. nil means the session has no
// conversation.
func (s *Session) Fork(turns int) *Fork {
	messages, tools, ok := s.talk.Fork(turns)
	if s.caller || !ok {
		return nil
	}
	return &Fork{Turns: turns, System: s.agent.system, Tools: tools, Messages: messages, from: s.agent.model}
}

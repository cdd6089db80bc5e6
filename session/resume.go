package session

import (
	"slices"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/conversation"
	"github.com/agentworker/worker/session/store"
)

// Fork is what a session begins with that goes on from the conversation of another
// one: what its model is sent begins with the same bytes, so that a provider's cache
// of them holds. It is not changed.
type Fork struct {
	Turns    int // as in [Session.Fork]
	System   string
	Tools    []model.ToolSpec
	Messages []model.Message
	from     model.Model
}

// AllTurns is the number of turns of a whole conversation.
const AllTurns = conversation.AllTurns

// Fork returns the conversation of the session as its model was sent it when it made
// the calls that run now: all of it, or that of the last turns. A turn begins with
// a message to the model that is not the result of calls. It is called by a tool of
// the session, while its call runs. nil means the session has no conversation.
func (s *Session) Fork(turns int) *Fork {
	n := len(s.messages)
	if s.agent == "" || n < 2 || s.messages[n-1].Role != model.Assistant {
		return nil
	}
	f := &Fork{Turns: turns, System: s.system, Tools: s.asked, from: s.model}
	f.Messages = slices.Clone(s.messages[conversation.From(s.messages[:n-1], turns) : n-1])
	return f
}

// goOn has a new session go on from a fork. What other models have thought is left
// out: a provider takes back only its own.
func (s *Session) goOn(f *Fork) {
	s.system, s.messages, s.inherited = f.System, slices.Clip(f.Messages), f.Tools
	if f.from.Name() != s.model.Name() {
		s.messages = conversation.WithoutReasoning(s.messages)
	}
	for _, m := range s.messages {
		for _, call := range m.ToolCalls {
			s.callIDs[call.ID] = true
		}
	}
	s.record.Fork = f.Turns
}

// offered returns the tools that the model is told of in the next call. Those of a
// fork are its origin's, whatever the session may use of them: the gate refuses
// the rest.
func (s *Session) offered() []model.ToolSpec {
	if s.asked = s.inherited; s.asked == nil {
		s.asked = s.tools.Offered(s.rules.Agents())
	}
	return s.asked
}

// Resumed is a session that has ended, and is gone on with.
type Resumed struct {
	ID       string
	Path     event.Path       // its own; who has asked for it has asked for the new one, too
	Model    string           // the name of the one that has run it
	Messages []*store.Message // its conversation: each call has an outcome

	// MessageID is the id of the first prompt, which [Session.Send] does not take
	// again; empty means a new one.
	MessageID string

	// Within are rulesets that its ancestors had, and the new one's may lack. Before is
	// what the session itself had; nil means nothing.
	Within []*permission.Ruleset
	Before *permission.Ruleset
}

// recall has the conversation begin with that of the session that is gone on with.
func (s *Session) recall(resumed *Resumed) {
	if s.promptID = resumed.MessageID; s.promptID != "" {
		s.beside.know(s.promptID)
	}
	for _, m := range resumed.Messages {
		message := m.Message
		if resumed.Model != s.model.Name() { // a provider takes back only its own
			message.Reasoning = nil
		}
		s.messages = append(s.messages, message)
		for _, call := range m.ToolCalls {
			s.callIDs[call.ID] = true
		}
	}
}

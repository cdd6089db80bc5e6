package session

import (
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/store"
)

// Resumed is a session that has ended, and is gone on with.
type Resumed struct {
	ID       string
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

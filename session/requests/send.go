package requests

import (
	"context"
	"errors"

	"github.com/agentworker/worker/session/record"
)

// ErrConcludes is returned for a message to a session whose model is giving, or has given,
// its final answer. Such a session accepts no more messages.
var ErrConcludes = errors.New("it is giving its answer, and takes no more messages")

// SendRequest asks the process of a session to have its model read a message.
type SendRequest struct {
	SessionID string        `json:"sessionId"`
	MessageID string        `json:"messageId"` // a second message with the same id is ignored
	Text      string        `json:"text"`
	By        record.Person `json:"by,omitempty"` // the sender; empty means unknown

	// Assignment is the session's new task or role, which Text mentions, too; nil means
	// none changes.
	Assignment *Assignment `json:"assignment,omitempty"`

	// Interrupt ends the step that runs, and drops earlier messages that were not delivered
	// yet.
	Interrupt bool `json:"interrupt,omitempty"`
}

// SendSubject returns the subject on which a process receives messages for its sessions,
// each the JSON of a [SendRequest]. It answers with a [RequestAnswer].
func (s *Sender) SendSubject(bootID string) string {
	return "agents.v1." + s.bus.Workspace() + ".workers." + bootID + ".send"
}

// Send has a session's model read a message before its next step, in whichever process it
// runs. It returns the session's record once the process has accepted the message.
//
// It returns the errors of [index.Index.Get], and a [*record.EndedError] for a session that
// has ended. The error is [ErrConcludes] if the session accepts no more messages. It is
// [ErrNotSent] if the process has not answered within 10 s, or before ctx ended.
func (s *Sender) Send(ctx context.Context, req SendRequest) (*record.Record, error) {
	return s.ask(ctx, req.SessionID, s.SendSubject, req)
}

package requests

import (
	"context"
	"errors"

	"github.com/agentworker/worker/session/record"
)

// ErrConcludes is returned for a message to a session whose model is giving its final
// answer or has given it. Such a session takes no more messages.
var ErrConcludes = errors.New("it is giving its answer, and takes no more messages")

// SendRequest asks the process of a session to have its model read a message.
type SendRequest struct {
	SessionID string        `json:"sessionId"`
	MessageID string        `json:"messageId"` // a second message with the same id is ignored
	Text      string        `json:"text"`
	By        record.Person `json:"by,omitempty"` // who sends it; empty means it is not known

	// Assignment is what the message says of the session's task; nil means nothing. Text has
	// it, too.
	Assignment *Assignment `json:"assignment,omitempty"`

	// Interrupt ends the step that runs, and drops what was sent before and is not
	// delivered.
	Interrupt bool `json:"interrupt,omitempty"`
}

// SendSubject is where the process of a boot id takes messages for its sessions, as
// the JSON of a [SendRequest]. It answers with a [RequestAnswer].
func (s *Sender) SendSubject(bootID string) string {
	return "agents.v1." + s.bus.Workspace() + ".workers." + bootID + ".send"
}

// Send has the model of a session read a message before its next step, in whatever
// process it runs, and returns the session's record once the process has taken it.
//
// Its errors are those of Get, an [*EndedError] for a session that has ended,
// [ErrConcludes], and [ErrNotSent] if the process has not answered within 10 s, or
// before ctx has ended.
func (s *Sender) Send(ctx context.Context, req SendRequest) (*record.Record, error) {
	return s.ask(ctx, req.SessionID, s.SendSubject, req)
}

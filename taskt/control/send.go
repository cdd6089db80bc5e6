package control

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentworker/worker/session/store"
)

// MaxMessage bounds the message of task_send, in bytes.
const MaxMessage = 256 << 10

// sendInput is what task_send takes.
type sendInput struct {
	SessionID string `json:"sessionId"`
	Message   string `json:"message"`
	Interrupt bool   `json:"interrupt"`
}

func (in *sendInput) Sessions() []string { return []string{in.SessionID} }

func (in *sendInput) Check() error {
	switch {
	case in.SessionID == "":
		return errors.New("sessionId is missing")
	case strings.TrimSpace(in.Message) == "":
		return errors.New("message is missing")
	case len(in.Message) > MaxMessage:
		return fmt.Errorf("message has %d bytes, more than %d: put it into a file, and send its path", len(in.Message), MaxMessage)
	}
	return nil
}

// Sent is the answer of task_send: the message that the subagent will read.
type Sent struct {
	SessionID string       `json:"sessionId"`
	MessageID string       `json:"messageId"`
	Status    store.Status `json:"status"` // of the session
	Interrupt bool         `json:"interrupt"`
}

func (in *sendInput) do(ctx context.Context, c *Control, scope *Scope) (Answer, error) {
	r, err := c.get(ctx, scope, in.SessionID)
	if err != nil {
		return nil, err
	}
	if r.Agent == "" {
		return nil, &InputError{"task_send", fmt.Errorf("session %s stands for a caller, and has no model that could read a message", r.ID)}
	}
	sent := &Sent{SessionID: r.ID, MessageID: store.NewID("msg"), Interrupt: in.Interrupt}
	r, err = c.store.Send(ctx, store.SendRequest{SessionID: r.ID, MessageID: sent.MessageID, Text: in.Message, Interrupt: in.Interrupt})
	if err != nil {
		return nil, err
	}
	sent.Status = r.Status
	return sent, nil
}

// Answer implements [Answer].
func (s *Sent) Answer() string {
	when := "before its next step"
	if s.Interrupt {
		when = "at once: what it was doing is interrupted"
	}
	return fmt.Sprintf("The subagent in session %s reads the message %s.", s.SessionID, when)
}

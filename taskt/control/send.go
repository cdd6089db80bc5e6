package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/requests"
)

const (
	// MaxMessage bounds the message of task_send, in bytes.
	MaxMessage = 256 << 10

	// maxKey bounds its idempotency key, in bytes.
	maxKey = 256
)

// sendInput is what task_send takes.
type sendInput struct {
	SessionID      string `json:"sessionId"`
	Message        string `json:"message"`
	Interrupt      bool   `json:"interrupt"`
	IdempotencyKey string `json:"idempotencyKey"` // empty means each call sends a message
	requests.Assignment
}

func (in *sendInput) Sessions() []string { return []string{in.SessionID} }

func (in *sendInput) Check() error {
	switch {
	case in.SessionID == "":
		return errors.New("sessionId is missing")
	case strings.TrimSpace(in.Message) == "" && in.Assignment == (requests.Assignment{}):
		return errors.New("message is missing, and so are objective and role")
	case len(in.Message) > MaxMessage:
		return fmt.Errorf("message has %d bytes, more than %d: put it into a file, and send its path", len(in.Message), MaxMessage)
	case len(in.IdempotencyKey) > maxKey:
		return fmt.Errorf("idempotencyKey has %d bytes, more than %d", len(in.IdempotencyKey), maxKey)
	}
	return in.Assignment.Check()
}

// messageID is the id of the message. Calls with one key have one id, and of an id
// a session takes one message.
func (in *sendInput) messageID() string {
	if in.IdempotencyKey == "" {
		return record.NewID("msg")
	}
	sum := sha256.Sum256([]byte(in.SessionID + "/" + in.IdempotencyKey))
	return "msg_key_" + hex.EncodeToString(sum[:16])
}

// Sent is the answer of task_send: the message that the subagent will read.
type Sent struct {
	SessionID string        `json:"sessionId"`
	MessageID string        `json:"messageId,omitempty"` // empty means it is the prompt of a session that goes on
	Status    record.Status `json:"status"`              // of the session
	Interrupt bool          `json:"interrupt"`
	Resumes   string        `json:"resumes,omitempty"` // the session that had ended, and goes on as this one
}

func (in *sendInput) do(ctx context.Context, c *Control, scope *Scope) (Answer, error) {
	r, err := c.get(ctx, scope, in.SessionID)
	if err != nil {
		return nil, err
	}
	if r.Agent == "" {
		return nil, &InputError{"task_send", fmt.Errorf("session %s stands for a caller, and has no model that could read a message", r.ID)}
	}
	sent := &Sent{SessionID: r.ID, MessageID: in.messageID(), Interrupt: in.Interrupt}
	request := requests.SendRequest{SessionID: r.ID, MessageID: sent.MessageID, Text: in.Told(in.Message), By: scope.As, Interrupt: in.Interrupt}
	if in.Assignment != (requests.Assignment{}) {
		request.Assignment = &in.Assignment
	}
	current, err := c.store.Requests.Send(ctx, request)
	if errors.Is(err, record.ErrEnded) && in.IdempotencyKey != "" {
		current, err = c.wasSent(ctx, r.ID, sent.MessageID, err)
	}
	var ended *record.EndedError
	if errors.As(err, &ended) && scope.Resume != nil {
		return in.resume(ctx, c, scope, ended.Record, sent)
	}
	if err != nil {
		return nil, err
	}
	sent.Status = current.Status
	return sent, nil
}

// wasSent returns the record of a session that has ended, if its conversation has
// the message of an id, and else the error ended.
func (c *Control) wasSent(ctx context.Context, sessionID, id string, ended error) (*record.Record, error) {
	messages, err := c.store.Transcripts.Messages(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(messages, func(m *log.Message) bool { return m.ID == id }) {
		return nil, ended
	}
	return c.store.Index.Get(ctx, sessionID)
}

// resume has a session that has ended go on with the message as its next prompt.
func (in *sendInput) resume(ctx context.Context, c *Control, scope *Scope, ended *record.Record, sent *Sent) (_ Answer, err error) {
	sent.Resumes, sent.Status = ended.ID, Accepted
	sent.SessionID, err = scope.Resume(ctx, Resumption{Record: ended, Prompt: in.Told(in.Message), MessageID: sent.MessageID, Assignment: in.Assignment})
	if errors.Is(err, record.ErrResumed) { // meanwhile: then that gets the message
		return in.do(ctx, c, scope)
	}
	if err != nil {
		return nil, &ResumeError{ended.ID, err}
	}
	return sent, nil
}

// ResumeError tells that a session that has ended could not be resumed.
type ResumeError struct {
	SessionID string
	Err       error
}

func (e *ResumeError) Error() string {
	return fmt.Sprintf("resuming session %s: %v", e.SessionID, e.Err)
}
func (e *ResumeError) Unwrap() error { return e.Err }

// Answer implements [Answer].
func (s *Sent) Answer() string {
	if s.Resumes != "" {
		return fmt.Sprintf("The subagent of session %s had ended, and goes on in session %s, with the message as its next task. task_wait waits for it.", s.Resumes, s.SessionID)
	}
	when := "before its next step"
	if s.Interrupt {
		when = "at once: what it was doing is interrupted"
	}
	return fmt.Sprintf("The subagent in session %s reads the message %s.", s.SessionID, when)
}

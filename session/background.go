package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentworker/worker/session/inbox"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/requests"
)

// errCallerEnded is the cause of the end of what a session runs in its background. It is a
// [context.Canceled].
var errCallerEnded = callerEnded{}

type callerEnded struct{}

func (callerEnded) Error() string        { return "the session that called it has ended" }
func (callerEnded) Is(target error) bool { return target == context.Canceled }

// Go runs f in the session's background. Its context ends when the session is stopped, or ends;
// [Session.End] waits for f. A session that has begun to end returns [record.ErrEnded].
func (s *Session) Go(f func(ctx context.Context)) error {
	if err := s.inbox.Enter(); err != nil {
		return fmt.Errorf("session %s: %w", s.id, err)
	}
	bond := s.life.Bind(s.life.Context())
	go func() {
		defer s.inbox.Leave()
		defer bond.Release()
		f(bond.Context())
	}()
	return nil
}

// Notify adds a message to the conversation, between two steps. The model also reads it after its
// answer, if something ran in the background then. A second message with the same id is ignored,
// and so is one whose id [Session.Knows] was called with. In a caller's session the message
// goes to the log at once.
func (s *Session) Notify(id, text string) {
	var record func()
	if s.caller {
		record = func() { s.log.Append(log.MessageEntry(id, text)) }
	}
	s.inbox.Notify(inbox.Message{ID: id, Text: text}, record)
}

// Knows notes that the model knows by the result of a call what messages with these ids would
// tell it. It is called before the call ends.
func (s *Session) Knows(callID string, ids ...string) {
	s.inbox.Know(ids, func() { s.log.Append(log.DeliveredEntry(callID, ids)) })
}

// Send has the session's model read a message before its next step. It does not wait for that.
// A second message with the same id is ignored. If the session ends first, the message is stored
// at the end of its conversation.
//
// It returns [record.ErrEnded] if the session has begun to end, [requests.ErrConcludes] if its model
// is giving its final answer, and another error if it has no model.
func (s *Session) Send(req requests.SendRequest) error {
	if s.caller {
		return fmt.Errorf("session %s stands for a caller, and has no model", s.id)
	}
	err := s.inbox.Send(inbox.Message{ID: req.MessageID, Text: req.Text, By: req.By, Assignment: req.Assignment}, req.Interrupt)
	if err != nil {
		return fmt.Errorf("session %s: %w", s.id, err)
	}
	return nil
}

// MoveToBackground has the task call of the session return, while the session continues in the
// background, unless it is there already. by names the person who asks for that. The error is
// [ErrNotWaiting] if the call does not wait yet.
func (s *Session) MoveToBackground(by string) error {
	switch {
	case s.Record().Background:
		return nil
	case s.move == nil:
		return errors.New("no call of task waits for it")
	}
	return s.move(by)
}

// ErrNotWaiting is returned for a session for which no call waits yet.
var ErrNotWaiting = errors.New("no call waits for the session yet")

package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentworker/worker/session/store"
)

// InterruptedError is why a step of a session ended: a message has come that its
// model is to read first. It is a [context.Canceled].
type InterruptedError struct{}

func (InterruptedError) Error() string { return "interrupted by a message that came meanwhile" }

// Is reports whether target is [context.Canceled].
func (InterruptedError) Is(target error) bool { return target == context.Canceled }

// Send has the session's model read a message before its next step. It does not wait
// for that. A second message with the same id is ignored. If the session ends first,
// the message is stored at the end of its conversation.
//
// It returns [store.ErrEnded] if the session has begun to end, [store.ErrConcludes] if
// its model is giving its final answer, and another error if it has no model.
func (s *Session) Send(req store.SendRequest) error {
	if s.agent == "" {
		return fmt.Errorf("session %s stands for a caller, and has no model", s.id)
	}
	b := &s.beside
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.known[req.MessageID]:
		return nil
	case b.over:
		return fmt.Errorf("session %s: %w", s.id, store.ErrEnded)
	case b.closed:
		return fmt.Errorf("session %s: %w", s.id, store.ErrConcludes)
	}
	b.know(req.MessageID)
	message := notice{id: req.MessageID, text: req.Text, sent: true, assignment: req.Assignment}
	if req.Interrupt {
		rest := slices.DeleteFunc(b.notices, func(n notice) bool { return n.sent })
		b.notices = append([]notice{message}, rest...)
		if b.interrupt != nil {
			b.interrupt(InterruptedError{})
		}
	} else {
		b.notices = append(b.notices, message)
	}
	b.signal()
	return nil
}

// Assign notes that the session has another task or role. Its model is told by a
// message.
func (s *Session) Assign(a store.Assignment) {
	s.publish(a.Event())
	s.note(s.change(func(r *store.Record) error {
		a.Apply(r)
		return nil
	}))
}

// beginStep adds the messages that wait to the conversation, and returns the context
// of a step, which a message may end. last: nothing is taken any more. The step ends
// with end.
func (s *Session) beginStep(ctx context.Context, last bool) (step context.Context, end func()) {
	step, cancel := context.WithCancelCause(ctx)
	b := &s.beside
	b.mu.Lock()
	notices := b.notices
	b.notices = nil
	b.interrupt, b.closed = cancel, last
	b.mu.Unlock()
	s.deliver(notices)
	return step, func() {
		b.mu.Lock()
		b.interrupt = nil
		b.mu.Unlock()
		cancel(nil)
	}
}

// interrupted reports whether a message has ended the step with this context.
func (t *Turn) interrupted(step context.Context) bool {
	return t.Context().Err() == nil && errors.As(context.Cause(step), new(InterruptedError))
}

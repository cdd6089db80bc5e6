package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/store"
)

// beside is what a session runs beside its turn, and what its model is to be told
// between two steps.
type beside struct {
	mu      sync.Mutex
	running int
	over    bool // the session ends: nothing more begins
	closing bool // all that ran has ended: nothing more is told
	works   sync.WaitGroup
	notices []notice
	closed  bool            // the model gives its answer, or has given it: it takes no more messages
	known   map[string]bool // ids of what the model was told, or knows by other means
	news    chan struct{}   // has a value if one of these may have changed

	interrupt context.CancelCauseFunc // ends the step that runs; nil means none does
}

// notice is a message to a session's model on its way.
type notice struct {
	id, text string
	sent     bool         // by somebody; else it tells of what ran beside the session
	by       store.Person // who has sent it

	assignment *store.Assignment // that it changes; nil means none
}

// errCallerEnded is the cause of the end of what a session runs beside its turn. It
// is a [context.Canceled].
var errCallerEnded = callerEnded{}

type callerEnded struct{}

func (callerEnded) Error() string        { return "the session that called it has ended" }
func (callerEnded) Is(target error) bool { return target == context.Canceled }

// Go runs f beside what the session does. Its context ends when the session is
// stopped, or ends; [Session.End] waits for f. A session that has begun to end
// returns [store.ErrEnded].
func (s *Session) Go(f func(ctx context.Context)) error {
	if err := s.enterBeside(); err != nil {
		return err
	}
	bond := s.life.Bind(s.background)
	go func() {
		defer s.beside.leave()
		defer bond.Release()
		f(bond.Context())
	}()
	return nil
}

// enterBeside counts what begins to run beside the session, up to leave.
func (s *Session) enterBeside() error {
	b := &s.beside
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return fmt.Errorf("session %s: %w", s.id, store.ErrEnded)
	}
	b.running++
	b.works.Add(1)
	return nil
}

func (b *beside) leave() {
	defer b.works.Done()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running--
	b.signal()
}

// signal tells the turn that something has changed. b.mu is held.
func (b *beside) signal() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// endBeside ends what runs beside the session, and returns when it has ended.
func (s *Session) endBeside() {
	b := &s.beside
	b.mu.Lock()
	b.over = true
	running := b.running
	b.mu.Unlock()
	if running > 0 {
		s.life.End(errCallerEnded)
	}
	b.works.Wait()
	b.mu.Lock()
	notices := b.notices
	b.notices, b.closing = nil, true
	b.mu.Unlock()
	for _, n := range notices { // no step comes any more
		s.toldBy(n)
		s.append(store.ToldEntry(n.id, n.text))
	}
}

// Notify adds a message to the conversation, between two steps. A model that has
// concluded while something runs beside its session goes on with it. A second message
// with the same id is ignored, and so is one whose id [Session.Knows] was called with.
// In a session that stands for a caller the message is in the log at once.
func (s *Session) Notify(id, text string) {
	b := &s.beside
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing || b.known[id] {
		return
	}
	b.know(id)
	if s.agent == "" {
		s.append(store.ToldEntry(id, text))
		return
	}
	b.notices = append(b.notices, notice{id: id, text: text})
	b.signal()
}

// Knows notes that the model knows by the result of a call what messages would tell
// it. It is called before the call ends.
func (s *Session) Knows(callID string, ids ...string) {
	b := &s.beside
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		b.know(id)
	}
	b.notices = slices.DeleteFunc(b.notices, func(n notice) bool { return slices.Contains(ids, n.id) })
	s.append(store.KnownEntry(callID, ids))
}

func (b *beside) know(id string) {
	if b.known == nil {
		b.known = make(map[string]bool)
	}
	b.known[id] = true
}

// deliver adds messages to the conversation.
func (s *Session) deliver(notices []notice) {
	for _, n := range notices {
		if n.assignment != nil {
			s.Assign(*n.assignment)
		}
		s.messages = append(s.messages, model.Message{Role: model.User, Text: n.text})
		s.toldBy(n)
		s.append(store.ToldEntry(n.id, n.text))
	}
}

// await reports whether there is a message to deliver. It waits for one while
// something runs beside the session. After false the session takes no more messages.
func (t *Turn) await() (bool, error) {
	b := &t.s.beside
	for {
		b.mu.Lock()
		waiting, running := len(b.notices), b.running
		b.closed = waiting == 0 && running == 0
		b.mu.Unlock()
		switch {
		case waiting == 0 && running == 0:
			return false, nil
		case t.Context().Err() != nil:
			return false, errors.New("it ended while it waited for what it had started")
		case waiting > 0:
			return true, nil
		}
		t.s.status(event.StatusIdle)
		select {
		case <-b.news:
		case <-t.Context().Done():
		}
	}
}

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
	message := notice{id: req.MessageID, text: req.Text, sent: true, by: cmp.Or(req.By, store.Unknown), assignment: req.Assignment}
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
	b := &s.beside
	b.mu.Lock()
	notices := b.notices
	b.notices = nil
	b.closed = last
	step, end = s.interruptible(ctx)
	b.mu.Unlock()
	s.deliver(notices)
	return step, end
}

// boundStep is beginStep for a step that goes on: the messages wait for its end.
func (s *Session) boundStep(ctx context.Context) (step context.Context, end func()) {
	s.beside.mu.Lock()
	defer s.beside.mu.Unlock()
	return s.interruptible(ctx)
}

// interruptible returns the context of a step. s.beside.mu is held.
func (s *Session) interruptible(ctx context.Context) (step context.Context, end func()) {
	b := &s.beside
	step, cancel := context.WithCancelCause(ctx)
	b.interrupt = cancel
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

// Package inbox has the messages for a session's model that arrive while the model works,
// and the background work which the model waits for.
package inbox

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/requests"
)

// Message is a message to a session's model.
type Message struct {
	ID, Text string
	Images   []model.Image // which are stored
	By       record.Person // whoever has sent it; empty means that it reports on background work

	Assignment *requests.Assignment // the change of the session's task that it tells of; nil means none
}

// InterruptedError is why a step of a session ended: its model is to read a message first. It
// is a [context.Canceled].
type InterruptedError struct{}

func (InterruptedError) Error() string { return "interrupted by a message that came meanwhile" }

// Is reports whether target is [context.Canceled].
func (InterruptedError) Is(target error) bool { return target == context.Canceled }

// Inbox holds the messages of a session between two steps, and counts what runs in the
// session's background. A message is taken once: later ones with its id are ignored. The
// zero value isn't ready: see [New].
//
// It is safe for concurrent use. One lock guards all of it, because a turn may only end when
// nothing runs and no message waits.
type Inbox struct {
	mu        sync.Mutex
	messages  []Message
	known     map[string]bool // the ids of what the model was told, or knows by other means
	closed    bool            // the model gives its final answer: no more messages are taken
	running   int             // in the background
	ending    bool            // the session ends: nothing more begins
	ended     bool            // everything has ended: nothing more is told
	works     sync.WaitGroup  // of what runs
	news      chan struct{}   // has a value if a message may have come, or work ended
	interrupt context.CancelCauseFunc
}

// New returns an empty inbox.
func New() *Inbox { return &Inbox{known: make(map[string]bool), news: make(chan struct{}, 1)} }

// Shut returns the inbox of a session that has ended.
func Shut() *Inbox {
	b := New()
	b.closed, b.ending, b.ended = true, true, true
	return b
}

// Know has messages with these ids ignored, because the model knows what they tell. record is
// called before any other message is taken; it may be nil.
func (b *Inbox) Know(ids []string, record func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		b.known[id] = true
	}
	b.messages = slices.DeleteFunc(b.messages, func(m Message) bool { return slices.Contains(ids, m.ID) })
	if record != nil {
		record()
	}
}

// Notify takes a message that reports on background work. If record is not nil, it stores the
// message, and no model reads it.
func (b *Inbox) Notify(m Message, record func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || b.known[m.ID] {
		return
	}
	b.known[m.ID] = true
	if record != nil {
		record()
		return
	}
	b.messages = append(b.messages, m)
	b.signal()
}

// Send takes a message that somebody has sent. With interrupt it ends the step that runs,
// and replaces the messages that were sent before and not read. The error is
// [record.ErrEnded] if the session ends, or [requests.ErrConcludes].
func (b *Inbox) Send(m Message, interrupt bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.known[m.ID]:
		return nil
	case b.ending:
		return record.ErrEnded
	case b.closed:
		return requests.ErrConcludes
	}
	b.known[m.ID] = true
	m.By = cmp.Or(m.By, record.Unknown)
	if interrupt {
		rest := slices.DeleteFunc(b.messages, func(m Message) bool { return m.By != "" })
		b.messages = append([]Message{m}, rest...)
		if b.interrupt != nil {
			b.interrupt(InterruptedError{})
		}
	} else {
		b.messages = append(b.messages, m)
	}
	b.signal()
	return nil
}

// BeginStep removes the messages that wait, for the model to read, and returns the context of
// a step, which a later message may end. With final the inbox takes no more messages. The
// caller calls end after the step.
func (b *Inbox) BeginStep(ctx context.Context, final bool) (read []Message, step context.Context, end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	read, b.messages, b.closed = b.messages, nil, final
	step, end = b.interruptible(ctx)
	return read, step, end
}

// ResumeStep is BeginStep for a step that was cut off: the messages wait for its end.
func (b *Inbox) ResumeStep(ctx context.Context) (step context.Context, end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.interruptible(ctx)
}

// interruptible returns the context of a step. b.mu is held.
func (b *Inbox) interruptible(ctx context.Context) (step context.Context, end func()) {
	step, cancel := context.WithCancelCause(ctx)
	b.interrupt = cancel
	return step, func() {
		b.mu.Lock()
		b.interrupt = nil
		b.mu.Unlock()
		cancel(nil)
	}
}

// Await reports whether a message waits. While anything runs in the background it waits for
// one, and calls idle before. After false the inbox takes no more messages.
func (b *Inbox) Await(ctx context.Context, idle func()) (bool, error) {
	for {
		b.mu.Lock()
		waiting, running := len(b.messages), b.running
		b.closed = waiting == 0 && running == 0
		b.mu.Unlock()
		switch {
		case waiting == 0 && running == 0:
			return false, nil
		case ctx.Err() != nil:
			return false, errors.New("it ended while it waited for what it had started")
		case waiting > 0:
			return true, nil
		}
		idle()
		select {
		case <-b.news:
		case <-ctx.Done():
		}
	}
}

// Enter counts work that begins in the background. It returns [record.ErrEnded] if the session
// ends. Leave follows.
func (b *Inbox) Enter() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ending {
		return record.ErrEnded
	}
	b.running++
	b.works.Add(1)
	return nil
}

// Leave ends what Enter began.
func (b *Inbox) Leave() {
	defer b.works.Done()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running--
	b.signal()
}

// End waits for the end of what runs in the background, which cancel cancels if there is
// anything. It returns the messages that nobody will read.
func (b *Inbox) End(cancel func()) (unread []Message) {
	b.mu.Lock()
	b.ending = true
	running := b.running
	b.mu.Unlock()
	if running > 0 {
		cancel()
	}
	b.works.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	unread, b.messages, b.ended = b.messages, nil, true
	return unread
}

// signal tells Await that something has changed. b.mu is held.
func (b *Inbox) signal() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

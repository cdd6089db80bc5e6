package eventbus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/eventbus/event"
)

// Publisher writes the log of one session, in order. It is safe for concurrent use; entries
// are stored in the order of the calls, among those of all publishers of the bus. What is
// stored of a session is always the first part of what it has published. When the store moves
// to another process or a server is lost, entries are sent again if necessary. Each is stored
// once.
//
// Deltas of a message that follow each other, and wait because the store is busy,
// become one.
//
// An entry that could not be stored ends the publisher: every later call returns its error,
// and no later entry is stored.
type Publisher struct {
	writer        *writer
	payloads      *payloads
	sessionID     string
	subject       string     // of the events, without the last token
	turnSubject   string     // of the events of its turns
	entrySubject  string     // of the entries that are no events
	fenceSubject  string     // of the session's fences
	known         uint64     // the sequence number of the last of them when it was made; 0 means there was none
	above         *Publisher // of the session above, where this one is to begin; nil means there is none
	random        string     // in the ids of its entries
	before, after []byte     // the envelope

	order sync.Mutex // keeps the calls in order

	// expected holds the headers of [Publisher.unfenced], made at the first call.
	expected nats.Header

	// The writer's mu guards these.
	count  uint64        // entries published
	stored uint64        // of them
	flight uint64        // the number of the last batch with an entry of it
	tail   *entry        // a delta that still waits to be sent, and is the last entry; nil means no such one
	ending uint64        // the number of the session's end; 0 means not published
	wake   chan struct{} // closed when more is stored, or err is set; nil means nobody waits
	err    error         // why the publisher has ended
}

// Publish sends ev to the store and returns without waiting. It waits if too much is to be
// sent, or the store is unavailable, or ev is too large for one message: then its content goes
// to the object store first, and the event refers to it.
func (p *Publisher) Publish(ctx context.Context, ev event.Event) error {
	p.order.Lock()
	defer p.order.Unlock()
	if d, ok := newDelta(ev); ok && len(d.text) <= maxDelta && maxDelta*8 <= p.payloads.maxMessage() {
		return p.writer.put(ctx, entry{p: p, subject: p.turnSubject, delta: d})
	}
	data, err := p.message(ctx, ev)
	if err != nil {
		return err
	}
	return p.writer.put(ctx, entry{p: p, subject: p.subjectOf(ev), data: data})
}

// Append stores an entry of the session's log that no follower of a stream sees. It keeps its
// place among the events of the session. kind is a word of ASCII letters; data is JSON. Like
// [Publisher.Publish] it returns without waiting.
func (p *Publisher) Append(ctx context.Context, kind string, data json.RawMessage) error {
	if len(data) == 0 {
		return fmt.Errorf("an entry of the kind %s has no content", kind)
	}
	p.order.Lock()
	defer p.order.Unlock()
	data, err := p.content(ctx, kind, data)
	if err != nil {
		return err
	}
	return p.writer.put(ctx, entry{p: p, subject: p.entrySubject, data: data})
}

func (p *Publisher) subjectOf(ev event.Event) string {
	if event.OfTurns(ev.Type()) {
		return p.turnSubject
	}
	return p.subject + "." + ev.Type()
}

// End publishes the last event of the session and waits until it is stored, and all
// before it. Of all publishers that end a session's stream, in whatever process, one
// succeeds; the others get [ErrEnded].
func (p *Publisher) End(ctx context.Context, ev event.SessionEnd) error {
	if err := p.putEnd(ctx, ev); err != nil {
		return err
	}
	return p.wait(ctx)
}

func (p *Publisher) putEnd(ctx context.Context, ev event.SessionEnd) error {
	p.order.Lock()
	defer p.order.Unlock()
	data, err := p.message(ctx, ev)
	if err != nil {
		return err
	}
	return p.writer.put(ctx, entry{p: p, subject: p.subjectOf(ev), data: data, last: true})
}

// Flush waits until everything that was published is stored.
func (p *Publisher) Flush(ctx context.Context) error {
	if err := p.wait(ctx); err != nil {
		return err
	}
	return p.Err()
}

// Close gives up what is not known to be stored, and sends nothing again.
func (p *Publisher) Close() {
	p.writer.mu.Lock()
	defer p.writer.mu.Unlock()
	_ = p.end(errors.New("the publisher is closed"))
}

// Stored returns how many entries are known to be stored.
func (p *Publisher) Stored() uint64 {
	p.writer.mu.Lock()
	defer p.writer.mu.Unlock()
	return p.stored
}

// Err returns why the publisher has ended: an [ErrEnded] with the end of its session.
// nil means what it has published is stored, or will be.
func (p *Publisher) Err() error {
	p.writer.mu.Lock()
	defer p.writer.mu.Unlock()
	return p.err
}

// wait waits until everything that was published is stored.
func (p *Publisher) wait(ctx context.Context) error {
	w := p.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.stored < p.count && !w.away() {
		w.pump()
	}
	for number := p.count; p.stored < number; {
		if p.err != nil {
			return p.err
		}
		if p.wake == nil {
			p.wake = make(chan struct{})
		}
		wake := p.wake
		w.mu.Unlock()
		var err error
		select {
		case <-wake:
		case <-ctx.Done(): // nothing is lost: the next call continues to wait
			err = context.Cause(ctx)
		case <-w.ctx.Done():
			err = context.Cause(w.ctx)
		}
		w.mu.Lock()
		if err != nil && p.stored < number && p.err == nil {
			return p.storing(p.stored+1, err)
		}
	}
	return nil
}

// acknowledge notes that e, and all entries of p before it, are stored. The caller
// holds the writer's mu, as for the methods below.
func (p *Publisher) acknowledge(e *entry) {
	p.stored = e.number
	if e.last {
		_ = p.end(ErrEnded)
	}
	p.changed()
}

// end ends the publisher with err, unless it has ended.
func (p *Publisher) end(err error) error {
	if p.err == nil {
		p.err = err
		p.changed()
	}
	return err
}

func (p *Publisher) changed() {
	if p.wake != nil {
		close(p.wake)
		p.wake = nil
	}
}

// storing adds to an error which entry it is about.
func (p *Publisher) storing(number uint64, cause error) error {
	return fmt.Errorf("storing event %d of session %s: %w", number, p.sessionID, cause)
}

// idPrefix returns what the message ids of p's entries begin with: the session's id
// and p's own.
func (p *Publisher) idPrefix() string { return p.sessionID + "." + p.random + "." }

// message returns the JSON of an event in its envelope or, if that is too large for
// one message, of one of the same type that refers to it.
func (p *Publisher) message(ctx context.Context, ev event.Event) ([]byte, error) {
	data := append(make([]byte, 0, len(p.before)+len(p.after)+256), p.before...)
	data, err := event.Append(data, ev)
	if err != nil {
		return nil, err
	}
	if data = append(data, p.after...); len(data) <= p.payloads.maxMessage() {
		return data, nil
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	ref, err := p.payloads.put(ctx, p.sessionID, data[len(p.before):len(data)-len(p.after)])
	if err != nil {
		return nil, fmt.Errorf("a %s event is too large for one message: %w", ev.Type(), err)
	}
	body, err := json.Marshal(reference{ev.Type(), ref})
	if err != nil {
		return nil, err
	}
	return slices.Concat(p.before, body, p.after), nil
}

// content returns the stored form of an entry of the log. An entry that is too large for one
// message becomes a reference of the same kind.
func (p *Publisher) content(ctx context.Context, kind string, data json.RawMessage) ([]byte, error) {
	if whole := entryMessage(kind, data); len(whole) <= p.payloads.maxMessage() {
		return whole, nil
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	ref, err := p.payloads.put(ctx, p.sessionID, data)
	if err != nil {
		return nil, fmt.Errorf("an entry of the log is too large for one message: %w", err)
	}
	body, err := json.Marshal(reference{kind, ref})
	if err != nil {
		return nil, err
	}
	return entryMessage(kind, body), nil
}

// ErrEnded is returned for an event of a session whose last event is stored, or that
// another process has taken over.
var ErrEnded = errors.New("the session's stream has ended, or another process has resumed it")

package eventbus

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// window bounds the events of one session that are not yet acknowledged.
	window = 1024

	// maxPendingTotal bounds those of all sessions of a process.
	maxPendingTotal = 16 * window

	// stallWait is how long a publish may wait for a place among
	// maxPendingTotal.
	stallWait = 10 * time.Second

	// ackTimeout is how long the store may take to acknowledge an event.
	ackTimeout = 10 * time.Second
)

// ErrEnded is returned for an event of a session whose last one is stored.
var ErrEnded = errors.New("the session's stream has ended")

// Publisher writes the events of one session, in order. It is safe for
// concurrent use; events are stored in the order in which Publish was called.
//
// An event that could not be stored ends the publisher: every later call
// returns that error. Those that were on their way behind it, a window at the
// most, may be stored: a hole can only be near the end of a failed session.
type Publisher struct {
	bus           *Bus
	js            jetstream.JetStream
	sessionID     string
	idPrefix      string // of the message ids: the session's id and this publisher's
	subject       string // without the type
	before, after []byte // the envelope

	mu      sync.Mutex
	count   uint64                   // events published, for their ids
	pending []jetstream.PubAckFuture // not known to be stored, oldest first
	err     error                    // why the publisher has ended
}

// Publisher returns the publisher of the session that path leads to. A session
// has one publisher, in one process.
func (b *Bus) Publisher(path Path) (*Publisher, error) {
	subject, err := b.Subject(path)
	if err != nil {
		return nil, fmt.Errorf("publishing events: %w", err)
	}
	id := path[len(path)-1].SessionID
	p := &Publisher{bus: b, js: b.js, sessionID: id, idPrefix: id + "." + rand.Text()[:8] + ".", subject: subject}
	p.before, p.after = path.envelope()
	return p, nil
}

// Publish hands ev to the store and returns without waiting for it, unless
// the window of unacknowledged events is full.
func (p *Publisher) Publish(ctx context.Context, ev Event) error {
	body, err := Encode(ev)
	if err != nil {
		return err
	}
	data := make([]byte, 0, len(p.before)+len(body)+len(p.after))
	data = append(append(append(data, p.before...), body...), p.after...)

	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.drain(); err != nil {
		return err
	}
	for len(p.pending) >= window {
		if err := p.settle(ctx); err != nil {
			return err
		}
	}
	p.count++
	msg := &nats.Msg{
		Subject: p.subject + "." + ev.Type(),
		Data:    data,
		// The id lets the store drop a second copy. It ends in the event's
		// number, so that a reader can tell that none is missing.
		Header: nats.Header{jetstream.MsgIDHeader: {p.idPrefix + strconv.FormatUint(p.count, 10)}},
	}
	future, err := p.js.PublishMsgAsync(msg, jetstream.WithStallWait(stallWait), jetstream.WithRetryAttempts(0))
	if errors.Is(err, nats.ErrMaxPayload) { // it has not left this process: the stream can go on
		err = fmt.Errorf("event %d of session %s (%s) has %d bytes, more than the event store takes: %w", p.count, p.sessionID, ev.Type(), len(data), err)
		p.count--
		return err
	}
	if err != nil {
		p.err = p.broken(p.count, err)
		return p.err
	}
	p.pending = append(p.pending, future)
	return nil
}

// End publishes the last event of the session and waits until it is stored. Of
// all that end a session's stream, in whatever process, one succeeds; the
// others get [ErrEnded].
func (p *Publisher) End(ctx context.Context, ev SessionEnd) error {
	if err := p.Flush(ctx); err != nil {
		return err
	}
	body, err := Encode(ev)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	// The subject is the session's and the type's own, so that 0 says: none yet.
	_, err = p.js.PublishMsg(ctx, &nats.Msg{
		Subject: p.subject + "." + ev.Type(),
		Data:    slices.Concat(p.before, body, p.after),
		Header:  nats.Header{jetstream.MsgIDHeader: {p.idPrefix + strconv.FormatUint(p.count, 10)}},
	}, jetstream.WithExpectLastSequencePerSubject(0))
	switch {
	case IsConflict(err):
		p.err = ErrEnded
	case err != nil:
		p.err = p.broken(p.count, err)
	default:
		p.err = ErrEnded // nothing comes after it
		return nil
	}
	return p.err
}

// Flush waits until everything that was published is stored.
func (p *Publisher) Flush(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.pending) > 0 {
		if err := p.settle(ctx); err != nil {
			return err
		}
	}
	return p.err
}

// settle waits for the acknowledgement of the oldest pending event.
func (p *Publisher) settle(ctx context.Context) error {
	if p.err != nil {
		return p.err
	}
	timeout := time.NewTimer(ackTimeout)
	defer timeout.Stop()
	number := p.count - uint64(len(p.pending)) + 1
	select {
	case <-p.pending[0].Ok():
		p.pending = p.pending[1:]
		return nil
	case err := <-p.pending[0].Err():
		p.err = p.broken(number, err)
	case <-timeout.C:
		p.err = p.broken(number, fmt.Errorf("the event store did not acknowledge it within %s%s", ackTimeout, p.bus.complaint()))
	case <-ctx.Done(): // nothing is lost: the next call goes on waiting
		return p.broken(number, context.Cause(ctx))
	}
	return p.err
}

// drain takes note of the acknowledgements that have come, without waiting: a
// session is to hear of an event that was refused before it goes on.
func (p *Publisher) drain() error {
	for p.err == nil && len(p.pending) > 0 {
		select {
		case <-p.pending[0].Ok():
			p.pending = p.pending[1:]
		case err := <-p.pending[0].Err():
			p.err = p.broken(p.count-uint64(len(p.pending))+1, err)
		default:
			return nil
		}
	}
	return p.err
}

func (p *Publisher) broken(number uint64, cause error) error {
	return fmt.Errorf("storing event %d of session %s: %w", number, p.sessionID, cause)
}

package eventbus

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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
	ackTimeout = 30 * time.Second
)

// Publisher writes the events of one session, in order. It is safe for
// concurrent use; events are stored in the order in which Publish was called.
//
// An event that could not be stored ends the publisher: every later call
// returns that error, so that a stream ends rather than go on without it.
type Publisher struct {
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
	p := &Publisher{js: b.js, sessionID: id, idPrefix: id + "." + rand.Text()[:8] + ".", subject: subject}
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
	for len(p.pending) >= window {
		if err := p.settle(ctx); err != nil {
			return err
		}
	}
	if p.err != nil {
		return p.err
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
	if err != nil {
		p.err = p.broken(p.count, err)
		return p.err
	}
	p.pending = append(p.pending, future)
	return nil
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
	select {
	case <-p.pending[0].Ok():
		p.pending = p.pending[1:]
		return nil
	default:
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
		p.err = p.broken(number, errors.New("the store did not acknowledge it within "+ackTimeout.String()))
	case <-ctx.Done(): // nothing is lost: the next call goes on waiting
		return p.broken(number, context.Cause(ctx))
	}
	return p.err
}

func (p *Publisher) broken(number uint64, cause error) error {
	return fmt.Errorf("storing event %d of session %s: %w", number, p.sessionID, cause)
}

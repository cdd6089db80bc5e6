package eventbus

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus/event"
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

	// ackTimeout is how long the store may take to acknowledge an event, while it
	// goes from one process to another included.
	ackTimeout = 10 * time.Second
)

// endSuffix is how the subject of a session's last event ends.
var endSuffix = "." + event.SessionEnd{}.Type()

// ErrEnded is returned for an event of a session whose last one is stored.
var ErrEnded = errors.New("the session's stream has ended")

// Publisher writes the events of one session, in order. It is safe for
// concurrent use; events are stored in the order in which Publish was called.
// What is on its way when the store goes from one process to another is sent
// again where it has to be, each event stored once.
//
// An event that could not be stored ends the publisher: every later call
// returns that error. Those that were on their way behind it, a window at the
// most, may be stored: a hole can only be near the end of a failed session.
type Publisher struct {
	bus           *Bus
	sessionID     string
	idPrefix      string // of the message ids: the session's id and this publisher's
	Subject       string // without the type
	before, after []byte // the envelope

	mu      sync.Mutex
	count   uint64    // events published, for their ids
	pending []sending // not known to be stored, oldest first
	lane    *lane     // on which all of pending are; nil: none, or not all
	trouble time.Time // since when the store has been refusing all; zero: it does not
	err     error     // why the publisher has ended
}

// sending is an event on its way.
type sending struct {
	number uint64
	msg    *nats.Msg
	ack    jetstream.PubAckFuture
}

// Publisher returns the publisher of the session that path leads to. A session
// has one publisher, in one process.
func (b *Bus) Publisher(path event.Path) (*Publisher, error) {
	subject, err := b.Subject(path)
	if err != nil {
		return nil, fmt.Errorf("publishing events: %w", err)
	}
	id := path[len(path)-1].SessionID
	p := &Publisher{bus: b, sessionID: id, idPrefix: id + "." + rand.Text()[:8] + ".", Subject: subject}
	p.before, p.after = path.Envelope()
	return p, nil
}

// Publish hands ev to the store and returns without waiting for it, unless the
// window of unacknowledged events is full, the store is away, or ev is too large
// for one message: then its content goes to the object store first, and the
// event says where.
func (p *Publisher) Publish(ctx context.Context, ev event.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.drain(ctx); err != nil {
		return err
	}
	for len(p.pending) >= p.bus.window() {
		if err := p.settle(ctx); err != nil {
			return err
		}
	}
	msg, err := p.message(ctx, ev)
	if err != nil {
		return err
	}
	if p.lane == nil || p.lane.ended() {
		if err := p.resend(ctx); err != nil {
			return err
		}
	}
	ack, err := p.send(msg)
	if errors.Is(err, nats.ErrMaxPayload) { // it has not left this process: the stream can go on
		return fmt.Errorf("event %d of session %s (%s) has %d bytes, more than the event store takes: %w",
			p.count+1, p.sessionID, ev.Type(), len(msg.Data), err)
	}
	p.count++
	p.pending = append(p.pending, sending{p.count, msg, ack})
	if err != nil {
		return p.failed(ctx, p.count, err)
	}
	return nil
}

// message returns the next event as it is stored.
func (p *Publisher) message(ctx context.Context, ev event.Event) (*nats.Msg, error) {
	body, err := p.fit(ctx, ev)
	if err != nil {
		return nil, err
	}
	return &nats.Msg{
		Subject: p.Subject + "." + ev.Type(),
		Data:    slices.Concat(p.before, body, p.after),
		// The id lets the store drop a second copy. It ends in the event's
		// number, so that a reader can tell that none is missing.
		Header: nats.Header{jetstream.MsgIDHeader: {p.idPrefix + strconv.FormatUint(p.count+1, 10)}},
	}, nil
}

func (p *Publisher) send(msg *nats.Msg) (jetstream.PubAckFuture, error) {
	return p.lane.js.PublishMsgAsync(msg, jetstream.WithStallWait(stallWait), jetstream.WithRetryAttempts(0))
}

// End publishes the last event of the session and waits until it is stored. Of
// all that end a session's stream, in whatever process, one succeeds; the
// others get [ErrEnded].
func (p *Publisher) End(ctx context.Context, ev event.SessionEnd) error {
	if err := p.Flush(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	msg, err := p.message(ctx, ev)
	if err != nil {
		return err
	}
	p.count++
	err = p.sendEnd(ctx, msg)
	if IsConflict(err) { // another's, or ours with a lost acknowledgement
		if _, ours := p.bus.js.stored(ctx, Stream, msg); ours {
			err = nil
		}
	}
	switch {
	case IsConflict(err):
		return p.ended(ErrEnded)
	case err != nil:
		return p.ended(p.broken(p.count, err))
	}
	_ = p.ended(ErrEnded) // nothing comes after it
	return nil
}

// sendEnd publishes the last event, at first on the lane that the others were on:
// a plain subscriber gets what comes on two connections in any order.
func (p *Publisher) sendEnd(ctx context.Context, msg *nats.Msg) error {
	// The subject is the session's and the type's own, so that 0 says: none yet.
	first := jetstream.WithExpectLastSequencePerSubject(0)
	if l, err := p.bus.lane(ctx); err == nil {
		try, stop := context.WithTimeout(ctx, attemptWait)
		_, err = l.js.PublishMsg(try, msg, first, jetstream.WithRetryAttempts(0))
		stop()
		if err == nil || IsConflict(err) {
			return err
		}
	}
	_, err := p.bus.js.PublishMsg(ctx, msg, first)
	return err
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

// settle waits for the acknowledgement of the oldest pending event, or for what
// becomes of it where the store is lost.
func (p *Publisher) settle(ctx context.Context) error {
	if p.err != nil {
		return p.err
	}
	if p.lane == nil || p.lane.ended() {
		return p.resend(ctx)
	}
	began := time.Now()
	timeout := time.NewTimer(p.bus.ackWait())
	defer timeout.Stop()
	hopeless := time.NewTimer(attemptWait)
	defer hopeless.Stop()
	oldest := p.pending[0]
	unanswered := func() error {
		return p.ended(p.broken(oldest.number, fmt.Errorf("the event store did not acknowledge it within %s%s",
			time.Since(began).Round(time.Second), p.bus.complaint())))
	}
	for {
		select {
		case <-oldest.ack.Ok():
			p.stored(oldest.number)
			return nil
		case err := <-oldest.ack.Err():
			return p.failed(ctx, oldest.number, err)
		case <-p.lane.gone:
			return p.resend(ctx)
		case <-hopeless.C:
			if p.bus.complained(began.Add(-attemptWait)) { // it may have been sent before
				return unanswered()
			}
		case <-timeout.C:
			return unanswered()
		case <-ctx.Done(): // nothing is lost: the next call goes on waiting
			return p.broken(oldest.number, context.Cause(ctx))
		}
	}
}

// drain takes note of the acknowledgements that have come, without waiting: a
// session is to hear of an event that was refused before it goes on.
func (p *Publisher) drain(ctx context.Context) error {
	for p.err == nil && p.lane != nil && len(p.pending) > 0 {
		oldest := p.pending[0]
		select {
		case <-oldest.ack.Ok():
			p.stored(oldest.number)
		case err := <-oldest.ack.Err():
			return p.failed(ctx, oldest.number, err)
		default:
			return nil
		}
	}
	return p.err
}

// stored takes note that the events up to number are stored.
func (p *Publisher) stored(number uint64) {
	for len(p.pending) > 0 && p.pending[0].number <= number {
		p.pending[0] = sending{} // the array stays
		p.pending = p.pending[1:]
		p.trouble = time.Time{}
	}
}

// failed takes note that an event was not acknowledged. Where the store is only
// away, all that is pending is sent again.
func (p *Publisher) failed(ctx context.Context, number uint64, err error) error {
	if p.trouble.IsZero() {
		p.trouble = time.Now()
	}
	if !errors.Is(err, nats.ErrConnectionClosed) && !p.bus.away(err) || time.Since(p.trouble) > p.bus.ackWait() {
		return p.ended(p.broken(number, err))
	}
	p.lane.end()
	return p.resend(ctx)
}

// goOn is called when a lane has ended, so that what was on it arrives even if
// the session does nothing.
func (p *Publisher) goOn(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil && len(p.pending) > 0 && (p.lane == nil || p.lane.ended()) {
		_ = p.resend(ctx) // the session hears of it with its next call
	}
}

// resend sends what is pending on the lane of the moment, for which it waits.
func (p *Publisher) resend(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, p.bus.ackWait())
	defer cancel()
	for p.lane == nil || p.lane.ended() {
		if err := p.changeLane(waiting); err != nil {
			err = p.broken(p.count-uint64(len(p.pending))+1, err)
			if ctx.Err() != nil && p.bus.ctx.Err() == nil { // the next call goes on
				return err
			}
			return p.ended(err)
		}
	}
	return nil
}

func (p *Publisher) changeLane(ctx context.Context) error {
	if p.lane != nil {
		p.lane.leave(p)
		p.lane = nil
	}
	next, err := p.bus.lane(ctx)
	if err != nil {
		return fmt.Errorf("%w%s", err, p.bus.complaint())
	}
	if err := p.skipStored(ctx); err != nil {
		return err
	}
	next.join(p)
	p.lane = next
	for i := range p.pending {
		if p.pending[i].ack, err = p.send(p.pending[i].msg); err != nil {
			next.end()
			p.lane = nil
			return nil // to be tried on the next one
		}
	}
	return nil
}

// skipStored finds out how far the last lane got. The store would know what it
// has by the message ids too, but not for ever, nor whatever becomes of the
// clock.
func (p *Publisher) skipStored(ctx context.Context) error {
	if len(p.pending) == 0 {
		return nil
	}
	last, err := p.bus.events.GetLastMsgForSubject(ctx, p.Subject+".*")
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for the last event: %w", err)
	}
	if strings.HasSuffix(last.Subject, endSuffix) {
		return ErrEnded // by another process, which took this one for gone
	}
	if text, ours := strings.CutPrefix(last.Header.Get(jetstream.MsgIDHeader), p.idPrefix); ours {
		if number, err := strconv.ParseUint(text, 10, 64); err == nil {
			p.stored(number)
		}
	}
	return nil
}

// ended ends the publisher with err.
func (p *Publisher) ended(err error) error {
	p.err, p.pending = err, nil
	if p.lane != nil {
		p.lane.leave(p)
		p.lane = nil
	}
	return err
}

// Close gives up what is not known to be stored: none of it is sent again.
func (p *Publisher) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		_ = p.ended(errors.New("the publisher is closed"))
	}
}

func (p *Publisher) broken(number uint64, cause error) error {
	return fmt.Errorf("storing event %d of session %s: %w", number, p.sessionID, cause)
}

package natsstore

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// consumeBatch is how many messages a consumer is asked for at once, and consumeBytes how
	// many bytes they have at most. A slow reader keeps that much waiting in this process.
	consumeBatch = 1024
	consumeBytes = 4 << 20

	// consumeExpiry is how long a request for messages is open. It keeps the consumer in
	// the server, and costs a message each time.
	consumeExpiry = 30 * time.Second
)

// ErrSilent is returned by [Store.Consume] if nothing has come for the time that it was
// given.
var ErrSilent = errors.New("the event store is silent")

// Start is where reading begins: at a sequence number or, where that is 0, at a time.
// The zero value: with the first message.
type Start struct {
	Seq  uint64
	Time time.Time
}

// Consume delivers what a stream has on some subjects from a start on, and what is stored
// there later, in order. It continues when the store moves. It returns nil when deliver wants
// no more, else deliver's error or why ctx has ended. If silence is not 0 it returns
// [ErrSilent] when no message has come for that time. next is where to continue.
//
// It is for one thing that the library's ordered consumer does not do: to end with its
// connection. That one waits for 10 s on a line that was cut without a word, after the
// connection has been given up.
func (s *Store) Consume(ctx context.Context, stream string, subjects []string, from Start, silence time.Duration, deliver func(*Message) (more bool, err error)) (next Start, err error) {
	c := &consuming{store: s, stream: stream, subjects: subjects, next: from, silence: silence, deliver: deliver}
	for over := false; !over && err == nil; {
		before := c.next
		if over, err = c.once(ctx); !over && err == nil && c.next == before {
			pause(ctx, s.ctx, retryPause)
		}
	}
	return c.next, err
}

// consuming is a [Store.Consume] that runs. A consumer in the server counts what it
// sends. If something is missing, or the connection is lost, another consumer continues.
type consuming struct {
	store    *Store
	stream   string
	subjects []string
	next     Start
	silence  time.Duration
	deliver  func(*Message) (bool, error)
}

// pulling is the part of it that one consumer delivers.
type pulling struct {
	*consuming
	name     string // of the consumer
	inbox    string
	sub      *nats.Subscription
	messages chan *nats.Msg
	life     context.Context // ends when the connection is lost
	number   uint64          // of the last message
	asked    int             // for how many messages the open request is; 0 means none is open
	got      int             // of them
	single   bool            // the next message has more than consumeBytes
}

// once delivers from one consumer until something is missing. over means that no other
// one is to continue.
func (c *consuming) once(ctx context.Context) (over bool, err error) {
	lim := readLimits
	if !c.store.Embedded() { // it may be away for any time
		lim = limits{attempt: AttemptTimeout}
	}
	p, err := retry(ctx, c.store.retrier, lim, c.begin)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return true, err
	}
	defer func() {
		_ = p.sub.Unsubscribe()
		if p.life.Err() == nil {
			c.store.forget(c.stream, p.name)
		}
	}()
	return p.run(ctx)
}

// begin makes a consumer.
func (c *consuming) begin(ctx context.Context) (*pulling, error) {
	heartbeats := int(consumeExpiry/pullHeartbeat) + 1
	p := &pulling{consuming: c, inbox: c.store.conn.NewInbox(), messages: make(chan *nats.Msg, consumeBatch+heartbeats+1)}
	_, p.life = c.store.retrier.state.current()
	cfg := readFrom(c.subjects, c.next.Seq)
	if c.next.Seq == 0 && !c.next.Time.IsZero() {
		cfg.DeliverPolicy, cfg.OptStartSeq, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, 0, &c.next.Time
	}
	consumer, err := c.store.js.JetStream.CreateConsumer(ctx, c.stream, cfg)
	if err != nil {
		return nil, err
	}
	p.name = consumer.CachedInfo().Name
	if p.sub, err = c.store.conn.ChanSubscribe(p.inbox, p.messages); err != nil {
		return nil, err
	}
	return p, nil
}

// run delivers until something is missing.
func (p *pulling) run(ctx context.Context) (over bool, err error) {
	quiet := 2 * pullHeartbeat
	if p.silence > 0 {
		quiet = min(quiet, p.silence)
	}
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	for {
		if p.asked == 0 {
			if err := p.ask(); err != nil {
				return false, nil // the connection is closed, or about to be
			}
		}
		select {
		case <-ctx.Done():
			return true, context.Cause(ctx)
		case <-p.store.ctx.Done():
			return true, context.Cause(p.store.ctx)
		case <-p.life.Done():
			return false, nil
		case <-timer.C:
			if p.silence > 0 {
				return true, ErrSilent
			}
			return false, nil
		case m, open := <-p.messages:
			if !open {
				return false, nil
			}
			if code, text := status(m); code != "" {
				if !p.control(code, text, m.Header) {
					return false, nil
				}
				if p.silence == 0 { // a heartbeat is no message
					timer.Reset(quiet)
				}
				continue
			}
			whole, more, err := p.take(m)
			if err != nil || whole && !more {
				return true, err
			}
			if !whole {
				return false, nil
			}
			timer.Reset(quiet)
		}
	}
}

// ask requests messages.
func (p *pulling) ask() error {
	r := pull{Batch: consumeBatch, MaxBytes: consumeBytes, Expires: consumeExpiry, Heartbeat: pullHeartbeat}
	if p.single {
		r.Batch, r.MaxBytes = 1, 0
	}
	p.asked, p.got, p.single = r.Batch, 0, false
	request, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return p.store.conn.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+p.stream+"."+p.name, p.inbox, request)
}

// take delivers a message. whole is false if one before it is missing.
func (p *pulling) take(m *nats.Msg) (whole, more bool, err error) {
	msg, number, _, err := delivery(m)
	if err != nil || number != p.number+1 {
		return false, false, nil
	}
	p.number, p.next = number, Start{Seq: msg.Seq + 1}
	if p.got++; p.got == p.asked {
		p.asked = 0
	}
	if more, err = p.deliver(msg); err != nil {
		return true, false, err
	}
	return true, more, nil
}

// control processes a status of the request. It reports whether the consumer can go on.
func (p *pulling) control(code, text string, header nats.Header) bool {
	if code == "100" {
		return true
	}
	// A request that ends says how many messages it has not had.
	left, err := strconv.Atoi(header.Get("Nats-Pending-Messages"))
	if err == nil && p.got+left != p.asked {
		return false
	}
	switch {
	case code == "408":
	case code == "409" && text == tooLarge:
		p.single = p.got == 0
	case code == "409" && text == "Batch Completed": // its bytes are used up
	default: // the consumer is gone
		return false
	}
	p.asked = 0
	return true
}

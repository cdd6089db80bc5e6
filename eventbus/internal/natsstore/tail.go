package natsstore

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Tail delivers what a stream of the embedded store has below a subject from a
// sequence number on, and what is stored there later, in order and wherever the
// store is opened next. It returns when ctx ends, or when the store stays away. It
// calls deliver in one goroutine at a time, which ends before it returns.
func (s *Store) Tail(ctx context.Context, stream, subject string, from uint64, deliver func(*Message)) error {
	t := &tail{store: s, stream: stream, subject: subject, next: from, deliver: deliver}
	for {
		before := t.next
		err := t.once(ctx)
		if err == nil && t.next == before {
			pause(ctx, s.ctx, retryPause)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("reading new events: %w", err)
		}
	}
}

// tail is a [Store.Tail] that runs. A consumer sends it the messages, counted, and
// heartbeats between them. If one is missing, or the connection is lost, another
// consumer continues.
type tail struct {
	store           *Store
	stream, subject string
	next            uint64 // the sequence number to continue with
	deliver         func(*Message)
}

// tailing is the part of a tail that one consumer delivers.
type tailing struct {
	*tail
	number uint64        // of the last message
	heard  atomic.Uint64 // how often there was a sign of the consumer
	broken chan struct{} // closed when something is missing: nothing is delivered any more
	ended  chan struct{} // closed when nothing is delivered any more
	sub    *nats.Subscription
	name   string          // of the consumer
	life   context.Context // ends when the connection is lost
}

// once delivers from one consumer until something is missing. An error means that
// there can't be one.
func (t *tail) once(ctx context.Context) error {
	now, err := retry(ctx, t.store.retrier, readLimits, t.begin)
	if err != nil {
		return err
	}
	defer func() {
		now.stop()
		if now.life.Err() == nil {
			t.store.forget(t.stream, now.name)
		}
	}()
	check := time.NewTicker(2 * tailHeartbeat)
	defer check.Stop()
	for heard := uint64(0); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-t.store.ctx.Done():
			return context.Cause(t.store.ctx)
		case <-now.life.Done():
			return nil
		case <-now.broken:
			return nil
		case <-check.C:
			before := heard
			if heard = now.heard.Load(); heard == before {
				return nil
			}
		}
	}
}

// begin makes a consumer that delivers.
func (t *tail) begin(ctx context.Context) (*tailing, error) {
	now := &tailing{tail: t, broken: make(chan struct{}), ended: make(chan struct{})}
	_, now.life = t.store.retrier.state.current()
	inbox := t.store.conn.NewInbox()
	var err error
	if now.sub, err = t.store.conn.Subscribe(inbox, now.receive); err != nil {
		return nil, err
	}
	now.sub.SetClosedHandler(func(string) { close(now.ended) })
	if !now.sub.IsValid() {
		return nil, nats.ErrConnectionClosed
	}
	if err = now.sub.SetPendingLimits(-1, -1); err == nil { // the consumer's flow control bounds what waits
		cfg := readFrom([]string{t.subject}, t.next)
		cfg.DeliverSubject, cfg.FlowControl, cfg.IdleHeartbeat = inbox, true, tailHeartbeat
		var consumer jetstream.PushConsumer
		if consumer, err = t.store.js.JetStream.CreatePushConsumer(ctx, t.stream, cfg); err == nil {
			now.name = consumer.CachedInfo().Name
			return now, nil
		}
	}
	now.stop()
	return nil, err
}

// stop returns when nothing is delivered any more.
func (t *tailing) stop() {
	_ = t.sub.Unsubscribe()
	<-t.ended
}

// receive is called with what the consumer sends.
func (t *tailing) receive(m *nats.Msg) {
	select {
	case <-t.broken:
		return
	default:
	}
	t.heard.Add(1)
	if code, _ := status(m); code != "" {
		t.control(code, m)
		return
	}
	msg, number, _, err := delivery(m)
	if err != nil || number != t.number+1 {
		close(t.broken)
		return
	}
	t.number, t.next = number, msg.Seq+1
	t.deliver(msg)
}

// control answers what the consumer sends for flow control. A heartbeat tells how
// many messages came before it.
func (t *tailing) control(code string, m *nats.Msg) {
	stalled := m.Reply
	if stalled == "" {
		stalled = m.Header.Get("Nats-Consumer-Stalled")
	}
	last := m.Header.Get("Nats-Last-Consumer")
	switch {
	case code != "100", last != "" && last != fmt.Sprint(t.number):
		close(t.broken)
	case stalled != "":
		_ = t.store.conn.Publish(stalled, nil) // if it is lost the next heartbeat asks again
	}
}

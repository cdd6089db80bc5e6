package natsstore

import (
	"context"
	"errors"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// retryingConsumer is an ordered consumer whose messages continue wherever the
// store is opened next. The library's own consumer waits for a heartbeat if the
// server went away in the middle of something.
type retryingConsumer struct {
	jetstream.Consumer
	ctx    context.Context // ends the messages
	stream retryingStream
	cfg    jetstream.OrderedConsumerConfig
}

// OrderedConsumer is the library's, but its messages end with ctx too.
func (s retryingStream) OrderedConsumer(ctx context.Context, cfg jetstream.OrderedConsumerConfig) (jetstream.Consumer, error) {
	c, err := retryDefault(ctx, s.retrier, func(ctx context.Context) (jetstream.Consumer, error) { return s.Stream.OrderedConsumer(ctx, cfg) })
	if err != nil {
		return nil, err
	}
	return retryingConsumer{c, ctx, s, cfg}, nil
}

// Messages asks an external server for heartbeats: a pull request may be lost
// with the server that had it, and missing heartbeats reveal that.
func (c retryingConsumer) Messages(opts ...jetstream.PullMessagesOpt) (jetstream.MessagesContext, error) {
	if !c.stream.retrier.embedded() {
		opts = append([]jetstream.PullMessagesOpt{jetstream.PullHeartbeat(pullHeartbeat)}, opts...)
	}
	m := &retryingMessages{consumer: c, opts: opts}
	return m, m.begin(c.Consumer)
}

// reopen makes the consumer that continues. The embedded store is away for
// moments, or broken; an external one may be away for any time.
func (c retryingConsumer) reopen(cfg jetstream.OrderedConsumerConfig) (jetstream.Consumer, error) {
	lim := defaultLimits
	if !c.stream.retrier.embedded() {
		lim.total = 0
	}
	return retry(c.ctx, c.stream.retrier, lim, func(ctx context.Context) (jetstream.Consumer, error) {
		return c.stream.Stream.OrderedConsumer(ctx, cfg)
	})
}

// delete deletes the consumer in the server. If that fails the server deletes it
// by itself, later.
func (c retryingConsumer) delete() {
	r := c.stream.retrier
	up, _ := r.state.current()
	select {
	case <-up:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(r.closed, deleteTimeout)
	defer cancel()
	_ = c.stream.DeleteConsumer(ctx, c.CachedInfo().Name)
}

// retryingMessages are the messages of a [retryingConsumer]. Next is for one
// goroutine, as the library's is.
type retryingMessages struct {
	consumer retryingConsumer
	opts     []jetstream.PullMessagesOpt
	last     uint64 // the sequence number of the last message that Next returned

	mu      sync.Mutex
	now     jetstream.MessagesContext
	release func() bool // a lost connection no longer ends now
	stopped bool
}

// begin continues with the messages of c, until the connection is lost.
func (m *retryingMessages) begin(c jetstream.Consumer) error {
	_, life := m.consumer.stream.retrier.state.current()
	now, err := c.Messages(m.opts...)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now, m.release = now, context.AfterFunc(life, now.Stop)
	if m.stopped {
		m.release()
		now.Stop()
	}
	return nil
}

// Next implements [jetstream.MessagesContext].
func (m *retryingMessages) Next(opts ...jetstream.NextOpt) (jetstream.Msg, error) {
	for {
		m.mu.Lock()
		now := m.now
		m.mu.Unlock()
		msg, err := now.Next(opts...)
		if err == nil {
			meta, err := msg.Metadata()
			if err == nil {
				m.last = meta.Sequence.Stream
			}
			return msg, err
		}
		m.mu.Lock()
		stopped := m.stopped
		m.mu.Unlock()
		if !errors.Is(err, jetstream.ErrMsgIteratorClosed) || stopped || m.consumer.stream.retrier.closed.Err() != nil {
			return nil, err
		}
		m.release()
		cfg := m.consumer.cfg
		if m.last > 0 {
			cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, m.last+1
		}
		next, err := m.consumer.reopen(cfg)
		if err != nil {
			return nil, err
		}
		m.mu.Lock()
		m.consumer.Consumer = next
		m.mu.Unlock()
		if err := m.begin(next); err != nil {
			return nil, err
		}
	}
}

// Stop implements [jetstream.MessagesContext]. The library leaves the consumer in
// the server until it has been inactive for a while; this deletes it.
func (m *retryingMessages) Stop() {
	m.end(jetstream.MessagesContext.Stop)
	m.mu.Lock()
	last := m.consumer
	m.mu.Unlock()
	last.delete()
}

// Drain implements [jetstream.MessagesContext].
func (m *retryingMessages) Drain() { m.end(jetstream.MessagesContext.Drain) }

func (m *retryingMessages) end(how func(jetstream.MessagesContext)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
	m.release()
	how(m.now)
}

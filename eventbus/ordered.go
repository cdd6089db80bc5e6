package eventbus

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// forgetWait is how long the deletion of a consumer may take.
const forgetWait = time.Second

// keptConsumer is an ordered consumer whose messages go on where the store is
// open next. The library's own waits for a heartbeat where the server has gone
// in the middle of something.
type keptConsumer struct {
	jetstream.Consumer
	ctx    context.Context // until its end they go on
	stream keptStream
	cfg    jetstream.OrderedConsumerConfig
}

// OrderedConsumer is the library's; ctx is that of its messages too.
func (s keptStream) OrderedConsumer(ctx context.Context, cfg jetstream.OrderedConsumerConfig) (jetstream.Consumer, error) {
	c, err := again(ctx, s.bus, func(ctx context.Context) (jetstream.Consumer, error) { return s.Stream.OrderedConsumer(ctx, cfg) })
	if err != nil {
		return nil, err
	}
	return keptConsumer{c, ctx, s, cfg}, nil
}

func (c keptConsumer) Messages(opts ...jetstream.PullMessagesOpt) (jetstream.MessagesContext, error) {
	m := &keptMessages{consumer: c, opts: opts}
	return m, m.begin(c.Consumer)
}

// reopen makes the consumer that goes on. The embedded store is away for moments,
// or something is wrong with it; an external one for as long as it takes.
func (c keptConsumer) reopen(cfg jetstream.OrderedConsumerConfig) (jetstream.Consumer, error) {
	bus := c.stream.bus
	for {
		next, err := again(c.ctx, bus, func(ctx context.Context) (jetstream.Consumer, error) {
			return c.stream.Stream.OrderedConsumer(ctx, cfg)
		})
		if err == nil || bus.Embedded() || !bus.away(err) || c.ctx.Err() != nil || bus.ctx.Err() != nil {
			return next, err
		}
	}
}

// forget deletes the consumer in the server. Where that does not go well the
// server does it by itself, later.
func (c keptConsumer) forget() {
	bus := c.stream.bus
	if !bus.conn.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(bus.ctx, forgetWait)
	defer cancel()
	_ = c.stream.DeleteConsumer(ctx, c.CachedInfo().Name)
}

// keptMessages are the messages of a [keptConsumer]. Next is for one goroutine,
// as the library's is.
type keptMessages struct {
	consumer keptConsumer
	opts     []jetstream.PullMessagesOpt
	last     uint64 // the sequence number of the last message that was told

	mu      sync.Mutex
	now     jetstream.MessagesContext
	forget  func() bool // the end of the connection does not end now any more
	stopped bool
}

// begin goes on with the messages of c, which ends when the connection is lost.
func (m *keptMessages) begin(c jetstream.Consumer) error {
	link := m.consumer.stream.bus.link
	link.mu.Lock()
	life := link.life
	link.mu.Unlock()
	now, err := c.Messages(m.opts...)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now, m.forget = now, context.AfterFunc(life, now.Stop)
	if m.stopped {
		m.forget()
		now.Stop()
	}
	return nil
}

// Next implements [jetstream.MessagesContext].
func (m *keptMessages) Next(opts ...jetstream.NextOpt) (jetstream.Msg, error) {
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
		bus := m.consumer.stream.bus
		m.mu.Lock()
		stopped := m.stopped
		m.mu.Unlock()
		if !errors.Is(err, jetstream.ErrMsgIteratorClosed) || stopped || bus.ctx.Err() != nil {
			return nil, err
		}
		m.forget()
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
// the server, for as long as it may be inactive; here it goes.
func (m *keptMessages) Stop() {
	m.end(jetstream.MessagesContext.Stop)
	m.mu.Lock()
	last := m.consumer
	m.mu.Unlock()
	last.forget()
}

// Drain implements [jetstream.MessagesContext].
func (m *keptMessages) Drain() { m.end(jetstream.MessagesContext.Drain) }

func (m *keptMessages) end(how func(jetstream.MessagesContext)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
	m.forget()
	how(m.now)
}

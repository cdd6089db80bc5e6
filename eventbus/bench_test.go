package eventbus_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

var (
	benchEvent = event.ContentDelta{MessageID: "msg_0123456789abcdef", Delta: "a few words of the answer, as a model streams them", Offset: 12345}
	benchRoot  = event.Path{{SessionID: "ses_0123456789abcdef"}}
	benchChild = benchRoot.Child("ses_fedcba9876543210", "explore")
)

// bare publishes with plain JetStream on the bus's own stream: messages of the size
// of a child's event in its envelope.
type bare struct {
	js      jetstream.JetStream
	subject string
	data    []byte
}

func newBare(b *testing.B, bus *eventbus.Bus) *bare {
	b.Helper()
	subject, err := bus.Subject(benchChild)
	if err != nil {
		b.Fatal(err)
	}
	data, err := event.Encode(benchEvent)
	if err != nil {
		b.Fatal(err)
	}
	js, err := jetstream.New(bus.Conn())
	if err != nil {
		b.Fatal(err)
	}
	return &bare{js, subject + ".turn", append(data, make([]byte, 110)...)}
}

func (p *bare) publish() error {
	_, err := p.js.PublishMsgAsync(&nats.Msg{Subject: p.subject, Data: p.data})
	return err
}

// BenchmarkPublish compares the durable events of a child with bare asynchronous JetStream
// publishes of the same bytes. Both use one server: deltas that join, as those of a model do,
// and events that do not. The server's message path and its file store limit what does not
// join.
func BenchmarkPublish(b *testing.B) {
	for name, step := range map[string]int{"joined": len(benchEvent.Delta), "unjoined": 1} {
		b.Run(name, func(b *testing.B) {
			p := publisher(b, openBus(b, b.TempDir()), benchChild)
			ev := benchEvent
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Publish(b.Context(), ev); err != nil {
					b.Fatal(err)
				}
				ev.Offset += step
			}
			if err := p.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
	b.Run("bare", func(b *testing.B) {
		p := newBare(b, openBus(b, b.TempDir()))
		for b.Loop() {
			if err := p.publish(); err != nil {
				b.Fatal(err)
			}
		}
		<-p.js.PublishAsyncComplete()
	})
}

// BenchmarkBurst measures what a session does before a tool: it publishes a few events
// and waits until they are stored.
func BenchmarkBurst(b *testing.B) {
	for _, n := range []int{1, 2, 8} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			p := publisher(b, openBus(b, b.TempDir()), event.Path{{SessionID: "ses_burst"}})
			for b.Loop() {
				for range n {
					if err := p.Publish(b.Context(), event.StatusChange{Status: "streaming"}); err != nil {
						b.Fatal(err)
					}
				}
				if err := p.Flush(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSync measures one event that is waited for, with the store's default and
// with one that has the disk keep each event before it acknowledges it.
func BenchmarkSync(b *testing.B) {
	for _, sync := range []eventbus.Sync{{}, {Always: true}} {
		name := "default"
		if sync.Always {
			name = "always"
		}
		b.Run(name, func(b *testing.B) {
			bus, err := eventbus.Open(b.Context(), "ws", &eventbus.Options{StoreDir: b.TempDir(), Sync: sync})
			if err != nil {
				b.Fatal(err)
			}
			defer bus.Close()
			p := publisher(b, bus, benchChild)
			for b.Loop() {
				if err := p.Publish(b.Context(), benchEvent); err != nil {
					b.Fatal(err)
				}
				if err := p.Flush(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReplay measures reading a stored stream of 10,000 events by a reader of
// the parent, and by a bare ordered consumer. An operation is one event.
func BenchmarkReplay(b *testing.B) {
	const stored = 10_000
	bus := openBus(b, b.TempDir())
	p := publisher(b, bus, benchChild)
	for range stored {
		if err := p.Publish(b.Context(), benchEvent); err != nil {
			b.Fatal(err)
		}
	}
	if err := p.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Run("follow", func(b *testing.B) {
		for n := 0; n < b.N; {
			for _, err := range bus.Follow(b.Context(), benchRoot, nil) {
				if err != nil {
					b.Fatal(err)
				}
				if n++; n >= b.N {
					break
				}
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		js := newBare(b, bus).js
		for n := 0; n < b.N; {
			messages := bareConsumer(b, js, jetstream.DeliverAllPolicy)
			for range min(stored, b.N-n) {
				if _, err := messages.Next(); err != nil {
					b.Fatal(err)
				}
				n++
			}
			messages.Stop()
		}
	})
}

func bareConsumer(b *testing.B, js jetstream.JetStream, from jetstream.DeliverPolicy, subjects ...string) jetstream.MessagesContext {
	b.Helper()
	consumer, err := js.OrderedConsumer(b.Context(), eventbus.Stream, jetstream.OrderedConsumerConfig{DeliverPolicy: from, FilterSubjects: subjects})
	if err != nil {
		b.Fatal(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		b.Fatal(err)
	}
	return messages
}

// BenchmarkLatency measures the time from a publish to a reader of the parent at
// 2,000 events a second, and to a bare ordered consumer on the same server. The
// wake-ups of goroutines limit it: other work on a machine with two cores doubles
// it.
func BenchmarkLatency(b *testing.B) {
	b.Run("follow", func(b *testing.B) {
		bus := openBus(b, b.TempDir())
		p := publisher(b, bus, benchChild)
		got, end := make(chan time.Time, 1), make(chan struct{})
		ctx, cancel := context.WithCancel(b.Context())
		go func() {
			defer close(end)
			for _, err := range bus.Follow(ctx, benchRoot, &eventbus.FollowOptions{Live: true}) {
				if err != nil {
					return
				}
				got <- time.Now()
			}
		}()
		latency(b, got, func() error { return p.Publish(b.Context(), benchEvent) })
		cancel()
		<-end
	})
	b.Run("bare", func(b *testing.B) {
		p := newBare(b, openBus(b, b.TempDir()))
		messages := bareConsumer(b, p.js, jetstream.DeliverAllPolicy)
		got, end := make(chan time.Time, 1), make(chan struct{})
		go func() {
			defer close(end)
			for {
				if _, err := messages.Next(); err != nil {
					return
				}
				got <- time.Now()
			}
		}()
		latency(b, got, p.publish)
		messages.Stop()
		<-end
	})
}

// latency publishes 2,000 times a second, and reports the median and the 99th
// percentile of the time until got.
func latency(b *testing.B, got <-chan time.Time, publish func() error) {
	b.Helper()
	tick := time.NewTicker(500 * time.Microsecond)
	defer tick.Stop()
	var times []time.Duration
	for b.Loop() {
		<-tick.C
		start := time.Now()
		if err := publish(); err != nil {
			b.Fatal(err)
		}
		times = append(times, (<-got).Sub(start))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/1e3, "p50-us")
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds())/1e3, "p99-us")
}

// BenchmarkOpen measures starting the embedded server with a ready stream in an
// empty folder, and closing it.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		bus, err := eventbus.Open(b.Context(), "ws", &eventbus.Options{StoreDir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		if err := bus.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

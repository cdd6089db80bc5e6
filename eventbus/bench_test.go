package eventbus_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
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

// bare is plain JetStream on the bus's own stream: messages of the size that a
// child's event has in its envelope.
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
	return &bare{js, subject + ".content_delta", append(data, make([]byte, 110)...)}
}

func (p *bare) publish() error {
	_, err := p.js.PublishMsgAsync(&nats.Msg{Subject: p.subject, Data: p.data})
	return err
}

// BenchmarkPublish measures durable events that a child publishes through the
// envelope, against bare asynchronous JetStream publishes of the same bytes on
// the same server. The server's message path, its file store and one
// acknowledgement a message are the limit of both; ours has besides the message
// id, by which the store drops a second copy (see docs/architecture.md).
func BenchmarkPublish(b *testing.B) {
	b.Run("envelope", func(b *testing.B) {
		p := publisher(b, openBus(b, b.TempDir()), benchChild)
		for b.Loop() {
			if err := p.Publish(b.Context(), benchEvent); err != nil {
				b.Fatal(err)
			}
		}
		if err := p.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
	})
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

// BenchmarkReplay measures reading a stored stream of 10,000 events, one
// operation an event: by a follower of the parent, and by a bare ordered
// consumer.
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
			for _, err := range bus.Follow(b.Context(), benchRoot, eventbus.FollowOptions{}) {
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

func bareConsumer(b *testing.B, js jetstream.JetStream, from jetstream.DeliverPolicy) jetstream.MessagesContext {
	b.Helper()
	consumer, err := js.OrderedConsumer(b.Context(), eventbus.Stream, jetstream.OrderedConsumerConfig{DeliverPolicy: from})
	if err != nil {
		b.Fatal(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		b.Fatal(err)
	}
	return messages
}

// BenchmarkLatency measures the time from a publish to the follower of the
// parent, at 2,000 events a second, against a bare ordered consumer on the same
// server. Wake-ups of goroutines are the limit: on two cores a busy machine
// doubles it.
func BenchmarkLatency(b *testing.B) {
	b.Run("follow", func(b *testing.B) {
		bus := openBus(b, b.TempDir())
		p := publisher(b, bus, benchChild)
		got, end := make(chan time.Time, 1), make(chan struct{})
		ctx, cancel := context.WithCancel(b.Context())
		go func() {
			defer close(end)
			for _, err := range bus.Follow(ctx, benchRoot, eventbus.FollowOptions{Live: true}) {
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

// BenchmarkFollowers measures what followers cost of whose sessions nothing is
// heard: 10,000 by [eventbus.Bus.Follow], each with its goroutine, against 1,000
// bare ordered consumers. An operation is one event that gets to one of them.
// Ours share one consumer; a queue and the goroutine's stack are what is left.
func BenchmarkFollowers(b *testing.B) {
	session := func(i int) event.Path { return event.Path{{SessionID: fmt.Sprint("ses_", i)}} }
	// run has n followers begin, each of which says on got what it gets.
	run := func(b *testing.B, n int, start func(bus *eventbus.Bus, path event.Path, got chan<- struct{}) (stop func())) {
		bus := openBus(b, b.TempDir())
		got := make(chan struct{})
		publish := func(i int) { // once it gets there the follower waits for more
			p := publisher(b, bus, session(i))
			if err := errors.Join(p.Publish(b.Context(), benchEvent), p.Flush(b.Context())); err != nil {
				b.Fatal(err)
			}
			<-got
		}
		before := inUse()
		for i := range n {
			defer start(bus, session(i), got)()
			publish(i)
		}
		each := float64(inUse()-before) / float64(n)
		i := 0
		for b.Loop() {
			publish(i % n)
			i++
		}
		b.ReportMetric(each, "B/follower")
	}
	b.Run("follow", func(b *testing.B) {
		run(b, 10_000, func(bus *eventbus.Bus, path event.Path, got chan<- struct{}) func() {
			ctx, cancel := context.WithCancel(b.Context())
			var following sync.WaitGroup
			following.Go(func() {
				for _, err := range bus.Follow(ctx, path, eventbus.FollowOptions{Live: true}) {
					if err == nil {
						got <- struct{}{}
					}
				}
			})
			return func() { cancel(); following.Wait() }
		})
	})
	b.Run("bare", func(b *testing.B) {
		run(b, 1_000, func(bus *eventbus.Bus, path event.Path, got chan<- struct{}) func() {
			subject, err := bus.Subject(path)
			if err != nil {
				b.Fatal(err)
			}
			js, err := jetstream.New(bus.Conn())
			if err != nil {
				b.Fatal(err)
			}
			consumer, err := js.OrderedConsumer(b.Context(), eventbus.Stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{subject + ".>"}})
			if err != nil {
				b.Fatal(err)
			}
			messages, err := consumer.Messages()
			if err != nil {
				b.Fatal(err)
			}
			var following sync.WaitGroup
			following.Go(func() {
				for {
					if _, err := messages.Next(); err != nil {
						return
					}
					got <- struct{}{}
				}
			})
			return func() { messages.Stop(); following.Wait() }
		})
	})
}

// inUse returns the bytes of heap and stacks.
func inUse() uint64 {
	for range 3 { // stacks shrink by half at each
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// BenchmarkOpen measures the embedded server from nothing to a ready stream,
// and back.
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

package eventbus_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// BenchmarkReaders measures what live readers cost while their sessions are silent:
// 10,000 by [eventbus.Bus.Follow], each with its goroutine, and 1,000 bare ordered
// consumers. An operation is one event that one of them receives. The readers share
// one consumer: each costs a queue and its goroutine's stack (B/reader).
func BenchmarkReaders(b *testing.B) {
	session := func(i int) event.Path { return event.Path{{SessionID: fmt.Sprint("ses_", i)}} }
	// run starts n readers, which send on got what they receive.
	run := func(b *testing.B, n int, start func(bus *eventbus.Bus, path event.Path, got chan<- struct{}) (stop func())) {
		bus := openBus(b, b.TempDir())
		got := make(chan struct{})
		publish := func(i int) { // once it arrives the reader waits for more
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
		b.ReportMetric(each, "B/reader")
	}
	b.Run("follow", func(b *testing.B) {
		run(b, 10_000, func(bus *eventbus.Bus, path event.Path, got chan<- struct{}) func() {
			ctx, cancel := context.WithCancel(b.Context())
			var following sync.WaitGroup
			following.Go(func() {
				for _, err := range bus.Follow(ctx, path, &eventbus.FollowOptions{Live: true}) {
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

// inUse returns the bytes in use of the heap and stacks.
func inUse() uint64 {
	for range 3 { // stacks shrink by half at each
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// BenchmarkFirstEvent measures the time from the beginning of a session to its first event at
// a follower: of a session that this process has begun, of one that it does not know, and with
// a bare ordered consumer for each session, on the same store. All of them wait for the store
// once, for the event.
func BenchmarkFirstEvent(b *testing.B) {
	bus := openBus(b, b.TempDir())
	older := publisher(b, bus, benchRoot) // of which the process keeps nothing
	if err := errors.Join(older.Publish(b.Context(), benchEvent), older.Flush(b.Context())); err != nil {
		b.Fatal(err)
	}
	sessions := 0
	first := func(b *testing.B, begin func(event.Path) error, follow func(path event.Path, got func())) {
		for b.Loop() {
			sessions++
			path := event.Path{{SessionID: fmt.Sprint("ses_", sessions)}}
			var following sync.WaitGroup
			got := make(chan struct{})
			if err := begin(path); err != nil {
				b.Fatal(err)
			}
			p := publisher(b, bus, path)
			following.Go(func() { follow(path, func() { close(got) }) })
			if err := p.Publish(b.Context(), benchEvent); err != nil {
				b.Fatal(err)
			}
			<-got
			b.StopTimer()
			following.Wait()
			if err := p.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
	follow := func(path event.Path, got func()) {
		for _, err := range bus.Follow(b.Context(), path, &eventbus.FollowOptions{Live: true}) {
			if err != nil {
				b.Error(err)
			}
			got()
			return
		}
	}
	unknown := func(event.Path) error { return nil }
	b.Run("begun", func(b *testing.B) { first(b, bus.Begin, follow) })
	b.Run("unknown", func(b *testing.B) { first(b, unknown, follow) })
	b.Run("bare", func(b *testing.B) {
		js, err := jetstream.New(bus.Conn())
		if err != nil {
			b.Fatal(err)
		}
		first(b, unknown, func(path event.Path, got func()) {
			subject, err := bus.Subject(path)
			if err != nil {
				b.Error(err)
			}
			messages := bareConsumer(b, js, jetstream.DeliverAllPolicy, subject+".>")
			if _, err := messages.Next(); err != nil {
				b.Error(err)
			}
			got()
			messages.Stop()
		})
	})
}

package eventbus_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
)

// TestEachWaitsForItself: while the server is away each publisher waits as long as
// its own context allows, whoever else waits, and closing the bus ends the wait.
func TestEachWaitsForItself(t *testing.T) {
	srv := natstest.Start(t, server.Options{})
	bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{URL: srv.ClientURL()})
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	srv.Shutdown()
	srv.WaitForShutdown()
	long := make(chan error, 3)
	for i := range cap(long) {
		p := publisher(t, bus, event.Path{{SessionID: fmt.Sprint("long", i)}})
		go func() { long <- p.Publish(context.Background(), delta(0)) }()
	}
	for range 3 {
		p := publisher(t, bus, event.Path{{SessionID: "short"}})
		ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		err := p.Publish(ctx, delta(0))
		stop()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the end of the context", err)
		}
	}
	select {
	case err := <-long:
		t.Errorf("short waits lasted as long as the long ones, of which one ended with %v", err)
		long <- err
	default:
	}
	if err := bus.Close(); err != nil {
		t.Error(err)
	}
	for range cap(long) {
		if err := <-long; err == nil {
			t.Error("an event was accepted without a store")
		}
	}
}

// TestFollowEndsWhileAway: a reader ends with its context, even while the
// server is away.
func TestFollowEndsWhileAway(t *testing.T) {
	srv := natstest.Start(t, server.Options{})
	bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{URL: srv.ClientURL()})
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	path := event.Path{{SessionID: "r"}}
	p := publisher(t, bus, path)
	if err := errors.Join(p.Publish(t.Context(), delta(0)), p.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	seen, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		var last error
		for _, err := range bus.Follow(ctx, path, &eventbus.FollowOptions{Live: true}) {
			if last = err; err == nil {
				close(seen)
			}
		}
		ended <- last
	}()
	<-seen
	lost := bus.Conn().StatusChanged(nats.RECONNECTING)
	srv.Shutdown()
	srv.WaitForShutdown()
	<-lost
	long := make(chan error, 1)
	wait := func(d time.Duration) {
		ctx, stop := context.WithTimeout(context.Background(), d)
		defer stop()
		_, err := bus.Newest(ctx)
		long <- err
	}
	wait(200 * time.Millisecond)
	if err := <-long; err == nil {
		t.Fatal("the server still answers")
	}
	go wait(5 * time.Second)
	stop()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want the end of the context", err)
		}
	case err := <-long:
		t.Errorf("the reader waits as long as another operation: %v", err)
	}
}

// TestOpenChecksTheStream: Open refuses a stream that would lose events.
func TestOpenChecksTheStream(t *testing.T) {
	url := natstest.Start(t, server.Options{}).ClientURL()
	js := natstest.JetStream(t, url)
	cfg := jetstream.StreamConfig{Name: eventbus.Stream, Subjects: []string{"agents.v1.*.events.>"}, Storage: jetstream.MemoryStorage}
	if _, err := js.CreateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{URL: url})
	if err == nil {
		bus.Close()
	}
	if refused := (*eventbus.StreamError)(nil); !errors.As(err, &refused) {
		t.Errorf("%v, want a StreamError", err)
	}
}

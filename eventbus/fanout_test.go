package eventbus_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// TestReadersComeAndGo: while sessions publish, readers of each and of their parent
// start anywhere, leave, and come back. Each gets every event once.
func TestReadersComeAndGo(t *testing.T) {
	const sessions, each, readers = 4, 500, 16
	bus := openBus(t, t.TempDir())
	root := event.Path{{SessionID: "r"}}
	working, ctx := errgroup.WithContext(t.Context())
	for i := range sessions {
		p := publisher(t, bus, root.Child(fmt.Sprint("c", i), "explore"))
		working.Go(func() error {
			for n := range each {
				if err := p.Publish(ctx, delta(n)); err != nil {
					return err
				}
			}
			return p.End(ctx, event.SessionEnd{Status: "completed"})
		})
	}
	for f := range readers {
		path := root
		if f%2 == 1 {
			path = root.Child(fmt.Sprint("c", f%sessions), "explore")
		}
		working.Go(func() error {
			next := make(map[string]int) // by session; 0 means not seen yet
			ends, resume := 0, uint64(0)
			for ends < 1 || len(path) == 1 && ends < sessions {
				leave := rand.IntN(each)
				for d, err := range bus.Follow(ctx, path, &eventbus.FollowOptions{From: resume, Live: true}) {
					if err != nil {
						return fmt.Errorf("reader %d: %w", f, err)
					}
					if d.Seq < resume {
						return fmt.Errorf("reader %d: event %d came again", f, d.Seq)
					}
					resume = d.Seq + 1
					id, ev := "", event.Event(nil)
					if len(path) == 1 {
						id, ev = open(t, d.Raw)
					} else if ev, err = event.Decode(d.Raw); err != nil {
						return err
					}
					switch ev := ev.(type) {
					case event.SessionEnd:
						ends++
					case event.ContentDelta:
						if ev.Offset != next[id] {
							return fmt.Errorf("reader %d: event %d of %q, want %d", f, ev.Offset, id, next[id])
						}
						next[id]++
					}
					if leave--; leave < 0 || ends == 1 && len(path) > 1 || ends == sessions {
						break
					}
				}
			}
			for id, n := range next {
				if n != each {
					return fmt.Errorf("reader %d: %d events of %q, want %d", f, n, id, each)
				}
			}
			return nil
		})
	}
	if err := working.Wait(); err != nil {
		t.Fatal(err)
	}
	awaitConsumers(t, bus, 1) // it stays for a while
}

// TestReadersShareAConsumer: however many readers there are, the store has one
// consumer.
func TestReadersShareAConsumer(t *testing.T) {
	bus := openBus(t, t.TempDir())
	stopped, stop := context.WithCancel(t.Context())
	defer stop()
	following, ctx := errgroup.WithContext(stopped)
	ready := make(chan struct{}, 100)
	for i := range cap(ready) {
		path := event.Path{{SessionID: fmt.Sprint("s", i)}}
		p := publisher(t, bus, path)
		following.Go(func() error {
			seen := 0
			for d, err := range bus.Follow(ctx, path, &eventbus.FollowOptions{Live: true}) {
				if stopped.Err() != nil {
					break
				}
				if err != nil {
					return err
				}
				if ev, err := event.Decode(d.Raw); err != nil || ev.(event.ContentDelta).Offset != seen {
					return fmt.Errorf("session %d: %s, want event %d", i, d.Raw, seen)
				}
				if seen++; seen == 2 {
					ready <- struct{}{}
				}
			}
			return nil
		})
		for n := range 2 {
			if err := p.Publish(t.Context(), delta(n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range cap(ready) {
		select {
		case <-ready:
		case <-ctx.Done():
			t.Fatal(following.Wait())
		}
	}
	awaitConsumers(t, bus, 1) // when what was stored before has been read
	stop()
	if err := following.Wait(); err != nil {
		t.Error(err)
	}
}

// TestReaderLingers: the shared consumer stays for a while after the last reader has left. A
// reader that begins after that misses nothing.
func TestReaderLingers(t *testing.T) {
	bus := openBus(t, t.TempDir())
	bus.SetLinger(10 * time.Millisecond)
	path := event.Path{{SessionID: "s"}}
	p := publisher(t, bus, path)
	if err := bus.Begin(path); err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		if err := p.Publish(t.Context(), delta(n)); err != nil {
			t.Fatal(err)
		}
		seen := 0
		for d, err := range bus.Follow(t.Context(), path, &eventbus.FollowOptions{Live: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ev := open(t, d.Raw); ev != event.Event(delta(seen)) {
				t.Fatalf("event %d is %s", seen, d.Raw)
			}
			if seen++; seen > n {
				break
			}
		}
		if n%2 == 0 {
			awaitConsumers(t, bus, 0)
		}
	}
}

// TestDeletedIsForgotten: a follower that begins after a session was deleted sees
// nothing of it.
func TestDeletedIsForgotten(t *testing.T) {
	bus := openBus(t, t.TempDir())
	path := event.Path{{SessionID: "s"}}
	deleted := publisher(t, bus, path)
	if err := errors.Join(bus.Begin(path), deleted.Publish(t.Context(), delta(0)), deleted.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := pass(t.Context(), bus, path, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := bus.Purge(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	p := publisher(t, bus, path)
	if err := p.Publish(t.Context(), delta(7)); err != nil {
		t.Fatal(err)
	}
	for d, err := range bus.Follow(t.Context(), path, &eventbus.FollowOptions{Live: true}) {
		if _, ev := open(t, d.Raw); err != nil || ev != event.Event(delta(7)) {
			t.Errorf("%s, %v after the deletion", d.Raw, err)
		}
		break
	}
}

// awaitConsumers waits until the event stream has n consumers.
func awaitConsumers(t *testing.T, bus *eventbus.Bus, n int) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); ; {
		stream, err := bus.JetStream().Stream(t.Context(), eventbus.Stream)
		if err != nil {
			t.Fatal(err)
		}
		got := stream.CachedInfo().State.Consumers
		if got == n {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("there are %d consumers, want %d", got, n)
		}
	}
}

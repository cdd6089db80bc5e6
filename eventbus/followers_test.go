package eventbus_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/sync/errgroup"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
)

// TestManyFollowers: many sessions of a process are followed live, all from their
// start and at once. Each follower gets all events of its session.
func TestManyFollowers(t *testing.T) {
	followMany(t, openBus(t, t.TempDir()), rounds(1_000, 5_000))
}

// rounds returns how much of a long test is done: all of it if WORKER_TEST_LONG is set.
func rounds(short, long int) int {
	if os.Getenv("WORKER_TEST_LONG") != "" {
		return long
	}
	return short
}

// TestManyFollowersOfServer is TestManyFollowers for an external server, which lets a
// stream have 1,000 consumers.
func TestManyFollowersOfServer(t *testing.T) {
	followMany(t, openURL(t, natstest.Start(t, server.Options{StoreDir: t.TempDir()}).ClientURL()), 1_200)
}

func followMany(t *testing.T, bus *eventbus.Bus, roots int) {
	const each = 2
	var following sync.WaitGroup
	for i := range roots {
		path := event.Path{{SessionID: fmt.Sprint("ses_", i)}}
		if i%10 > 0 { // most of them are known to be new
			if err := bus.Begin(path); err != nil {
				t.Fatal(err)
			}
		}
		p := publisher(t, bus, path)
		for n := range each {
			if err := p.Publish(t.Context(), delta(n)); err != nil {
				t.Fatal(err)
			}
		}
		following.Go(func() {
			seen := 0
			for d, err := range bus.Follow(t.Context(), path, &eventbus.FollowOptions{Live: true}) {
				if err != nil {
					t.Errorf("session %d: %v", i, err)
					return
				}
				if ev, err := event.Decode(d.Raw); err != nil || ev != event.Event(delta(seen)) {
					t.Errorf("session %d: event %d is %s, %v", i, seen, d.Raw, err)
				}
				if seen++; seen == each {
					return
				}
			}
		})
	}
	following.Wait()
	awaitConsumers(t, bus, 1)
}

// TestFollowersAnywhere: while sessions of several depths publish more than a
// process keeps in memory, followers of all of them begin anywhere, at any pace.
// Meanwhile the process that runs the store ends, and another one runs it. Each
// follower sees exactly what is stored from where it began, once and in order, and no
// entry of a log.
func TestFollowersAnywhere(t *testing.T) {
	const each, followers = 1_500, 20
	dir := t.TempDir()
	leading := openBus(t, dir)
	bus, other := openBus(t, dir), openBus(t, dir) // other's events come from outside of the process
	root := event.Path{{SessionID: "r"}}
	child := root.Child("c", "explore")
	paths := []event.Path{child.Child("g", "explore"), child, root.Child("d", "plan"), root, {{SessionID: "s"}}}
	working, ctx := errgroup.WithContext(t.Context())
	var publishing sync.WaitGroup
	publishers := make([]*eventbus.Publisher, len(paths))
	for i, path := range paths {
		of := bus
		if i%2 == 0 {
			of = other
		} else if err := bus.Begin(path); err != nil {
			t.Fatal(err)
		}
		p := publisher(t, of, path)
		publishers[i] = p
		publishing.Add(1)
		working.Go(func() error {
			defer publishing.Done()
			return publishNoted(ctx, p, each)
		})
	}
	type follower struct {
		path event.Path
		from uint64
		seqs []uint64
	}
	readers := make([]follower, followers)
	for i := range readers {
		s := &readers[i]
		s.path, s.from = paths[i%len(paths)], uint64(rand.IntN(len(paths)*each))
		if i%3 == 0 {
			s.from = 0
		}
		begin, slow := rand.IntN(each), i%4 == 0
		working.Go(func() error {
			if err := pass(ctx, bus, paths[4], 0, begin); err != nil {
				return err
			}
			for d, err := range bus.Follow(ctx, s.path, &eventbus.FollowOptions{From: s.from, Live: true}) {
				if err != nil {
					return fmt.Errorf("follower %d: %w", i, err)
				}
				s.seqs = append(s.seqs, d.Seq)
				if d.Ends() {
					break
				}
				if slow && len(s.seqs)%300 == 0 { // others get ahead of it
					if err := pass(ctx, bus, root, d.Seq, 200); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	if err := errors.Join(pass(ctx, other, paths[4], 0, each/2), leading.Close()); err != nil {
		t.Error(err)
	}
	publishing.Wait()
	for _, p := range publishers { // each after those below it: its end is the last event of its stream
		if err := p.End(ctx, event.SessionEnd{Status: "completed"}); err != nil {
			t.Error(err)
		}
	}
	if err := working.Wait(); err != nil {
		t.Fatal(err)
	}
	for i, s := range readers {
		want := replay(t, bus, s.path, s.from)
		if !slices.EqualFunc(s.seqs, want, func(seq uint64, d eventbus.Delivery) bool { return seq == d.Seq }) {
			t.Errorf("follower %d of %v from %d saw %d events, want the %d that are stored: %v", i, s.path.IDs(), s.from, len(s.seqs), len(want), s.seqs)
		}
	}
}

// publishNoted publishes n deltas with entries between them.
func publishNoted(ctx context.Context, p *eventbus.Publisher, n int) error {
	for i := range n {
		err := p.Publish(ctx, delta(i))
		if err == nil && i%10 == 0 {
			err = p.Append(ctx, "note", []byte(`{}`))
		}
		if err != nil {
			return err
		}
	}
	return p.Flush(ctx)
}

// pass waits until n events of a session have passed, or its last one.
func pass(ctx context.Context, bus *eventbus.Bus, path event.Path, from uint64, n int) error {
	for d, err := range bus.Follow(ctx, path, &eventbus.FollowOptions{From: from, Live: true}) {
		if err != nil {
			return err
		}
		if n--; n < 0 || d.Ends() {
			break
		}
	}
	return nil
}

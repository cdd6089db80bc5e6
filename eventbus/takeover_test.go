package eventbus_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// TestStoreFollower: a store follower reads live what the leader stores, and the
// leader reads what the follower stores.
func TestStoreFollower(t *testing.T) {
	dir := t.TempDir()
	leading := openBus(t, dir)
	if _, err := os.Stat(filepath.Join(dir, "rendezvous", "address.json")); err == nil {
		t.Error("the address is there before a follower requests it")
	}
	path := event.Path{{SessionID: "r"}}
	ours := publisher(t, leading, path)
	if err := errors.Join(ours.Publish(t.Context(), delta(1)), ours.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	first, second := openBus(t, dir), openBus(t, dir)
	if first.Health().Leads || !first.Health().Embedded || !leading.Health().Leads {
		t.Errorf("the follower leads: %v, is embedded: %v; the leader leads: %v", first.Health().Leads, first.Health().Embedded, leading.Health().Leads)
	}
	theirs := publisher(t, second, path.Child("c", "explore"))
	seen := 0
	for d, err := range first.Follow(t.Context(), path, &eventbus.FollowOptions{Live: true}) {
		if err != nil {
			t.Fatal(err)
		}
		switch seen++; seen {
		case 1:
			if err := errors.Join(theirs.Publish(t.Context(), delta(2)), theirs.Flush(t.Context())); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if ev, err := event.Decode(d.Raw); err != nil || ev.Type() != "subagent_event" {
			t.Errorf("event %s, %v, want the follower's", d.Raw, err)
		}
		break
	}
	if got := replay(t, leading, path, 0); len(got) != 2 {
		t.Errorf("the leader has %d events, want 2", len(got))
	}
}

// TestLeaderCloses: while publishers and readers work on several buses, the leader
// closes its bus. Every event is stored once and in order, and readers miss
// nothing and see nothing twice.
func TestLeaderCloses(t *testing.T) {
	const members, each = 3, 3000
	dir := t.TempDir()
	leading := openBus(t, dir)
	root := event.Path{{SessionID: "r"}}
	var buses []*eventbus.Bus
	working, ctx := errgroup.WithContext(t.Context())
	begun := make(chan struct{}, members)
	for i := range members {
		bus := openBus(t, dir)
		buses = append(buses, bus)
		p := publisher(t, bus, root.Child(fmt.Sprint("c", i), "explore"))
		working.Go(func() error {
			for n := range each {
				if err := p.Publish(ctx, delta(n)); err != nil {
					return fmt.Errorf("publisher %d: %w", i, err)
				}
				if n == each/10 {
					begun <- struct{}{}
				}
			}
			return p.Flush(ctx)
		})
		working.Go(func() error {
			next := make(map[string]int)
			seen := 0
			for d, err := range bus.Follow(ctx, root, &eventbus.FollowOptions{Live: true}) {
				if err != nil {
					return fmt.Errorf("reader %d: %w", i, err)
				}
				id, ev := open(t, d.Raw)
				if got := ev.(event.ContentDelta).Offset; got != next[id] {
					return fmt.Errorf("reader %d: event %d of %s, want %d", i, got, id, next[id])
				}
				next[id]++
				if seen++; seen == members*each {
					break
				}
			}
			return nil
		})
	}
	for range members {
		await(ctx, begun)
	}
	if err := errors.Join(leading.Close(), working.Wait()); err != nil {
		t.Fatal(err)
	}
	leaders := 0
	for _, b := range buses {
		if b.Health().Leads {
			leaders++
		}
	}
	if leaders != 1 {
		t.Errorf("%d buses lead, want 1", leaders)
	}
}

// TestPayloadsMove: events too large for one message are stored and read while the
// leader closes.
func TestPayloadsMove(t *testing.T) {
	const events = 4
	dir := t.TempDir()
	leading := openBus(t, dir)
	writer, reader := openBus(t, dir), openBus(t, dir)
	path := event.Path{{SessionID: "r"}}
	p := publisher(t, writer, path)
	large := strings.Repeat("x", 9<<20)
	begun := make(chan struct{}, 1)
	working, ctx := errgroup.WithContext(t.Context())
	working.Go(func() error {
		for i := range events {
			if err := p.Publish(ctx, event.ContentDelta{Delta: large, Offset: i}); err != nil {
				return fmt.Errorf("event %d: %w", i, err)
			}
		}
		return p.Flush(ctx)
	})
	working.Go(func() error {
		seen := 0
		for d, err := range reader.Follow(ctx, path, &eventbus.FollowOptions{Live: true}) {
			if err != nil {
				return fmt.Errorf("reading, after %d events: %w", seen, err)
			}
			if ev, err := event.Decode(d.Raw); err != nil || ev != (event.ContentDelta{Delta: large, Offset: seen}) {
				return fmt.Errorf("event %d is wrong: %.100s, %w", seen, d.Raw, err)
			}
			if seen++; seen == 1 {
				begun <- struct{}{}
			}
			if seen == events {
				break
			}
		}
		return nil
	})
	await(ctx, begun)
	if err := errors.Join(leading.Close(), working.Wait()); err != nil {
		t.Fatal(err)
	}
}

// await waits for a value, or the end of ctx.
func await(ctx context.Context, c <-chan struct{}) {
	select {
	case <-c:
	case <-ctx.Done():
	}
}

// TestBucketMoves: each update by compare-and-set counts once, and a watch shows
// the last of them, while the store moves from bus to bus.
func TestBucketMoves(t *testing.T) {
	const moves = 4
	dir := t.TempDir()
	leading := openBus(t, dir)
	bus := openBus(t, dir)
	cfg := jetstream.KeyValueConfig{Bucket: "B"}
	bucket, err := bus.Store().EnsureBucket(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	rev, err := bucket.Create(t.Context(), "key", []byte("0"))
	if err != nil {
		t.Fatal(err)
	}
	watch, err := bucket.Watch(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	final := make(chan string, 1)
	var watching sync.WaitGroup
	watching.Go(func() {
		last, want := "", ""
		for want == "" || last != want {
			select {
			case want = <-final:
			case e := <-watch.Updates():
				if e != nil {
					last = string(e.Value())
				}
			}
		}
	})
	stop := make(chan struct{})
	var updating sync.WaitGroup
	count := 0
	updating.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			next, err := bucket.Update(t.Context(), "key", []byte(strconv.Itoa(count+1)), rev)
			if err != nil {
				t.Errorf("update %d: %v", count+1, err)
				return
			}
			rev = next
			count++
		}
	})
	for range moves {
		next := openBus(t, dir)
		if err := leading.Close(); err != nil {
			t.Error(err)
		}
		if _, err := next.Newest(t.Context()); err != nil { // waits for the store
			t.Error(err)
		}
		if leading = next; bus.Health().Leads {
			break // it leads for good
		}
	}
	close(stop)
	updating.Wait()
	if _, err := bucket.Update(t.Context(), "key", []byte("x"), rev-1); !eventbus.IsConflict(err) {
		t.Errorf("an update of an old revision: %v, want a conflict", err)
	}
	final <- strconv.Itoa(count)
	watching.Wait()
}

// BenchmarkJoin measures opening a store that another process leads.
func BenchmarkJoin(b *testing.B) {
	dir := b.TempDir()
	openBus(b, dir)
	for b.Loop() {
		bus, err := eventbus.Open(b.Context(), "ws", &eventbus.Options{StoreDir: dir})
		if err != nil {
			b.Fatal(err)
		}
		if err := bus.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTakeover measures the time from the end of a leader, its orderly close
// included, to the first event that another process has stored.
func BenchmarkTakeover(b *testing.B) {
	dir := b.TempDir()
	leading := openBus(b, dir)
	var total time.Duration
	n := 0
	for b.Loop() {
		next := openBus(b, dir)
		p := publisher(b, next, event.Path{{SessionID: fmt.Sprint("s", n)}})
		n++
		if err := errors.Join(p.Publish(b.Context(), delta(0)), p.Flush(b.Context())); err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if err := leading.Close(); err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(p.Publish(b.Context(), delta(1)), p.Flush(b.Context())); err != nil {
			b.Fatal(err)
		}
		total += time.Since(start)
		leading = next
	}
	b.ReportMetric(float64(total.Milliseconds())/float64(n), "ms/takeover")
}

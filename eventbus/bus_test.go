package eventbus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/bustest"
	"github.com/agentworker/worker/eventbus/event"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(memberDir); dir != "" {
		member(dir)
		return
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // parallel tests wait for most of their time
		panic(err)
	}
	goleak.VerifyTestMain(m,
		// nats.go 1.55: a goroutine that ObjectStore.Put starts misses its end if the
		// end comes first (jetstream/publish.go, newAsyncReply).
		goleak.IgnoreAnyFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"))
}

// openBus opens a bus on the embedded store in dir.
func openBus(t testing.TB, dir string) *eventbus.Bus {
	t.Helper()
	return bustest.Open(t, &eventbus.Options{StoreDir: dir})
}

// openURL opens a bus on an external server.
func openURL(t testing.TB, url string) *eventbus.Bus {
	t.Helper()
	return bustest.Open(t, &eventbus.Options{URL: url})
}

func publisher(t testing.TB, bus *eventbus.Bus, path event.Path) *eventbus.Publisher {
	t.Helper()
	p, err := bus.Publisher(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// delta returns the i-th of some deltas that do not continue each other, so that none
// are joined.
func delta(i int) event.ContentDelta {
	return event.ContentDelta{MessageID: "m", Delta: fmt.Sprint("d", i), Offset: i}
}

// replay returns the stored stream of a session.
func replay(t testing.TB, bus *eventbus.Bus, path event.Path, from uint64) []eventbus.Delivery {
	t.Helper()
	var got []eventbus.Delivery
	for d, err := range bus.Follow(t.Context(), path, &eventbus.FollowOptions{From: from}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, d)
	}
	return got
}

func TestEnvelope(t *testing.T) {
	bus := openBus(t, t.TempDir())
	root := event.Path{{SessionID: "r"}}
	child := root.Child("c", `ex"pl<ore`)
	grandchild := child.Child("g", "general")
	for _, path := range []event.Path{root, child, grandchild} {
		p := publisher(t, bus, path)
		if err := errors.Join(p.Publish(t.Context(), delta(len(path))), p.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	d := func(i int) string {
		return fmt.Sprintf(`{"type":"content_delta","messageId":"m","delta":"d%d","offset":%d}`, i, i)
	}
	inChild := func(s string) string {
		return `{"type":"subagent_event","agentType":"ex\"pl\u003core","sessionId":"c","event":` + s + `}`
	}
	inGrandchild := func(s string) string {
		return `{"type":"subagent_event","agentType":"general","sessionId":"g","event":` + s + `}`
	}
	for _, tt := range []struct {
		path event.Path
		want []string
	}{
		{root, []string{d(1), inChild(d(2)), inChild(inGrandchild(d(3)))}},
		{child, []string{d(2), inGrandchild(d(3))}},
		{grandchild, []string{d(3)}},
		{event.Path{{SessionID: "nobody"}}, nil},
	} {
		var got []string
		for _, d := range replay(t, bus, tt.path, 0) {
			got = append(got, string(d.Raw))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("stream of %v:\n%s\nwant:\n%s", tt.path, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
}

// TestSameOrder: whatever runs concurrently, a child's stream and its parent's have
// the child's events in the order of publishing.
func TestSameOrder(t *testing.T) {
	bus := openBus(t, t.TempDir())
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		root := event.Path{{SessionID: fmt.Sprintf("r%d", run)}}
		children := rapid.IntRange(1, 12).Draw(rt, "children")
		counts := rapid.SliceOfN(rapid.IntRange(1, 60), children, children).Draw(rt, "events")
		var paths []event.Path
		var publishing sync.WaitGroup
		for i := range children {
			parent := root
			if i > 0 && rapid.Bool().Draw(rt, "nested") {
				parent = paths[rapid.IntRange(0, i-1).Draw(rt, "parent")]
			}
			path := parent.Child(fmt.Sprintf("c%d-%d", run, i), "explore")
			paths = append(paths, path)
			p := publisher(t, bus, path)
			publishing.Go(func() {
				for n := range counts[i] {
					if err := p.Publish(t.Context(), delta(n)); err != nil {
						t.Error(err)
					}
				}
				if err := p.Flush(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		publishing.Wait()

		seen := make(map[string][]int) // by session, as the root's stream shows it
		for _, d := range replay(t, bus, root, 0) {
			id, ev := open(t, d.Raw)
			seen[id] = append(seen[id], ev.(event.ContentDelta).Offset)
		}
		for i, path := range paths {
			id := path[len(path)-1].SessionID
			var own []int
			for _, d := range replay(t, bus, path, 0) {
				if ev, err := event.Decode(d.Raw); err != nil {
					rt.Fatal(err)
				} else if ev, ok := ev.(event.ContentDelta); ok {
					own = append(own, ev.Offset)
				}
			}
			want := make([]int, counts[i])
			for n := range want {
				want[n] = n
			}
			if !slices.Equal(own, want) || !slices.Equal(seen[id], want) {
				rt.Fatalf("session %s published %d events; its own stream has %v, the root's %v", id, counts[i], own, seen[id])
			}
		}
	})
}

// open removes all envelopes of an event, and returns the innermost session.
func open(t testing.TB, raw json.RawMessage) (id string, ev event.Event) {
	t.Helper()
	for {
		ev, err := event.Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		env, ok := ev.(event.SubagentEvent)
		if !ok {
			return id, ev
		}
		id, raw = env.SessionID, env.Event
	}
}

// TestResume: a reader that comes back with the sequence number after the
// last one it saw gets the rest, each event once.
func TestResume(t *testing.T) {
	bus := openBus(t, t.TempDir())
	root := event.Path{{SessionID: "r"}}
	own, child := publisher(t, bus, root), publisher(t, bus, root.Child("c", "explore"))
	other := publisher(t, bus, event.Path{{SessionID: "other"}})
	for i := range 30 {
		for _, p := range []*eventbus.Publisher{own, other, child} {
			if err := p.Publish(t.Context(), delta(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, p := range []*eventbus.Publisher{own, other, child} {
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	all := replay(t, bus, root, 0)
	if len(all) != 60 {
		t.Fatalf("the root's stream has %d events, want 60", len(all))
	}
	for cut := range all {
		rest := replay(t, bus, root, all[cut].Seq+1)
		same := slices.EqualFunc(rest, all[cut+1:], func(a, b eventbus.Delivery) bool {
			return a.Seq == b.Seq && bytes.Equal(a.Raw, b.Raw)
		})
		if !same {
			t.Fatalf("after event %d: got %d events, want the %d that follow", all[cut].Seq, len(rest), len(all)-cut-1)
		}
	}
}

// TestReopen: what was flushed is stored after the server has been restarted.
func TestReopen(t *testing.T) {
	dir := t.TempDir()
	root := event.Path{{SessionID: "r"}}
	bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{StoreDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	p := publisher(t, bus, root)
	for i := range 500 {
		if err := p.Publish(t.Context(), delta(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(p.Flush(t.Context()), bus.Close()); err != nil {
		t.Fatal(err)
	}
	got := replay(t, openBus(t, dir), root, 0)
	if len(got) != 500 {
		t.Fatalf("%d events after reopening, want 500", len(got))
	}
}

// TestLive: a live reader gets what is stored and then what is published.
func TestLive(t *testing.T) {
	bus := openBus(t, t.TempDir())
	root := event.Path{{SessionID: "r"}}
	p := publisher(t, bus, root)
	if err := p.Publish(t.Context(), delta(0)); err != nil {
		t.Fatal(err)
	}
	next := 0
	for d, err := range bus.Follow(t.Context(), root, &eventbus.FollowOptions{Live: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ev := open(t, d.Raw); ev != event.Event(delta(next)) {
			t.Fatalf("event %d is %s", next, d.Raw)
		}
		if next++; next == 100 {
			break
		}
		if err := p.Publish(t.Context(), delta(next)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	bus := openBus(t, t.TempDir())
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the client has gone")
	defer cancel(nil)
	p := publisher(t, bus, event.Path{{SessionID: "r"}})
	if err := p.Publish(t.Context(), delta(0)); err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range bus.Follow(ctx, event.Path{{SessionID: "r"}}, &eventbus.FollowOptions{Live: true}) {
		cancel(gone)
		last = err
	}
	if !errors.Is(last, gone) {
		t.Errorf("the last value is %v, want %v", last, gone)
	}
}

// TestPublisherEnds: after an event that could not be stored, none is accepted.
func TestPublisherEnds(t *testing.T) {
	bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	p := publisher(t, bus, event.Path{{SessionID: "r"}})
	if err := errors.Join(p.Publish(t.Context(), delta(0)), p.Flush(t.Context()), bus.Close()); err != nil {
		t.Fatal(err)
	}
	first := p.Publish(t.Context(), delta(1))
	if first == nil {
		t.Fatal("an event was accepted without a store")
	}
	if second := p.Publish(t.Context(), delta(2)); !errors.Is(second, first) {
		t.Errorf("after %v: %v, want the same error", first, second)
	}
	if err := p.Flush(t.Context()); !errors.Is(err, first) {
		t.Errorf("flush after %v: %v, want the same error", first, err)
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"", "a.b", "a b", "*", ">", "a\n"} {
		if bus, err := eventbus.Open(t.Context(), name, &eventbus.Options{StoreDir: t.TempDir()}); err == nil {
			t.Errorf("Open accepted the workspace %q", name)
			bus.Close()
		}
	}
	bus := openBus(t, t.TempDir())
	for _, id := range []string{"", "a.b", ">", "*", "a b"} {
		if _, err := bus.Publisher(event.Path{{SessionID: id}}); err == nil {
			t.Errorf("Publisher accepted the session id %q", id)
		}
	}
	if _, err := bus.Publisher(nil); err == nil {
		t.Error("Publisher accepted an empty path")
	}
}

// TestOpenNothing: without a store folder or URL Open fails, nil options included.
func TestOpenNothing(t *testing.T) {
	for _, opts := range []*eventbus.Options{nil, {}} {
		if bus, err := eventbus.Open(t.Context(), "ws", opts); err == nil {
			bus.Close()
			t.Errorf("Open accepted %v", opts)
		}
	}
}

func TestStoreDirInTheWay(t *testing.T) {
	if bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{StoreDir: "/dev/null/x"}); err == nil {
		bus.Close()
		t.Fatal("a store below a file was opened")
	} else if !strings.Contains(err.Error(), "/dev/null/x") {
		t.Errorf("the error does not name the folder: %v", err)
	}
}

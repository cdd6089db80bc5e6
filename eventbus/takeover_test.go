package eventbus_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// TestHostCloses: while publishers and followers work on several buses, the
// host closes its bus. Every event is there once, in order, and followers miss
// nothing and see nothing twice.
func TestHostCloses(t *testing.T) {
	const guests, each = 3, 3000
	dir := t.TempDir()
	host := openBus(t, dir)
	root := event.Path{{SessionID: "r"}}
	var buses []*eventbus.Bus
	var publishing, following sync.WaitGroup
	begun := make(chan struct{}, guests)
	for i := range guests {
		bus := openBus(t, dir)
		buses = append(buses, bus)
		p := publisher(t, bus, root.Child(fmt.Sprint("c", i), "explore"))
		publishing.Go(func() {
			for n := range each {
				if err := p.Publish(t.Context(), delta(n)); err != nil {
					t.Errorf("publisher %d: %v", i, err)
					return
				}
				if n == each/10 {
					begun <- struct{}{}
				}
			}
			if err := p.Flush(t.Context()); err != nil {
				t.Errorf("publisher %d: %v", i, err)
			}
		})
		following.Go(func() {
			next := make(map[string]int)
			seen := 0
			for d, err := range bus.Follow(t.Context(), root, eventbus.FollowOptions{Live: true}) {
				if err != nil {
					t.Errorf("follower %d: %v", i, err)
					return
				}
				id, ev := open(t, d.Raw)
				if got := ev.(event.ContentDelta).Offset; got != next[id] {
					t.Errorf("follower %d: event %d of %s, want %d", i, got, id, next[id])
					return
				}
				next[id]++
				if seen++; seen == guests*each {
					return
				}
			}
		})
	}
	for range guests {
		<-begun
	}
	if err := host.Close(); err != nil {
		t.Error(err)
	}
	publishing.Wait()
	following.Wait()
	hosts := 0
	for _, b := range buses {
		if b.Hosts() {
			hosts++
		}
	}
	if hosts != 1 {
		t.Errorf("%d buses have the store open, want 1", hosts)
	}
}

// TestPayloadsMove: events too large for one message are stored, and followed,
// while the host closes.
func TestPayloadsMove(t *testing.T) {
	const events = 8
	dir := t.TempDir()
	host := openBus(t, dir)
	writer, reader := openBus(t, dir), openBus(t, dir)
	path := event.Path{{SessionID: "r"}}
	p := publisher(t, writer, path)
	large := strings.Repeat("x", 9<<20)
	begun := make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() {
		for i := range events {
			if err := p.Publish(t.Context(), event.ContentDelta{Delta: large, Offset: i}); err != nil {
				t.Errorf("event %d: %v", i, err)
				return
			}
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Error(err)
		}
	})
	working.Go(func() {
		seen := 0
		for d, err := range reader.Follow(t.Context(), path, eventbus.FollowOptions{Live: true}) {
			if err != nil {
				t.Errorf("following, behind %d events: %v", seen, err)
				return
			}
			if ev, err := event.Decode(d.Raw); err != nil || ev != (event.ContentDelta{Delta: large, Offset: seen}) {
				t.Errorf("event %d is another: %.100s, %v", seen, d.Raw, err)
				return
			}
			if seen++; seen == 2 {
				close(begun)
			}
			if seen == events {
				return
			}
		}
	})
	<-begun
	if err := host.Close(); err != nil {
		t.Error(err)
	}
	working.Wait()
}

// TestBucketMoves: updates by compare-and-set count once each, and a watch
// tells the last of them, while the store moves from bus to bus.
func TestBucketMoves(t *testing.T) {
	const moves = 4
	dir := t.TempDir()
	host := openBus(t, dir)
	bus := openBus(t, dir)
	cfg := jetstream.KeyValueConfig{Bucket: "B"}
	bucket, err := bus.EnsureBucket(t.Context(), cfg)
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
		if err := host.Close(); err != nil {
			t.Error(err)
		}
		if _, err := next.Newest(t.Context()); err != nil { // waits for the store
			t.Error(err)
		}
		if host = next; bus.Hosts() {
			break // it keeps the store for good
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

// TestStoreElsewhere: where the lock is held and nobody lets in, or what answers
// is not the one that has it, Open says so.
func TestStoreElsewhere(t *testing.T) {
	strangerDir := t.TempDir()
	openBus(t, strangerDir)
	openBus(t, strangerDir)
	url, token := address(t, strangerDir)
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deaf.Close() })
	for name, at := range map[string]any{
		"nobody":         nil,
		"another server": map[string]string{"url": url, "token": "of a killed one", "host": "x.host"},
		"a deaf port":    map[string]string{"url": "nats://" + deaf.Addr().String(), "token": token, "host": "x.host"},
		"elsewhere":      map[string]string{"url": "nats://192.0.2.1:4222", "token": token, "host": "x.host"},
		"no address":     "x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			held := flock.New(filepath.Join(dir, "host.lock"))
			if ok, err := held.TryLock(); err != nil || !ok {
				t.Fatal(ok, err)
			}
			defer held.Unlock()
			if err := os.MkdirAll(filepath.Join(dir, "share"), 0o700); err != nil {
				t.Fatal(err)
			}
			there := flock.New(filepath.Join(dir, "share", "x.host"))
			if ok, err := there.TryLock(); err != nil || !ok {
				t.Fatal(ok, err)
			}
			defer there.Unlock()
			if data, err := json.Marshal(at); err != nil {
				t.Fatal(err)
			} else if err := os.WriteFile(filepath.Join(dir, "share", "server.json"), data, 0o600); at != nil && err != nil {
				t.Fatal(err)
			}
			bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{StoreDir: dir})
			if !errors.Is(err, eventbus.ErrNoHost) {
				t.Errorf("%v, want %v", err, eventbus.ErrNoHost)
			}
			if err == nil {
				bus.Close()
			}
			if asks, err := filepath.Glob(filepath.Join(dir, "share", "*.ask")); err != nil || len(asks) > 0 {
				t.Errorf("%v, %v stay behind", asks, err)
			}
		})
	}
}

// TestNoLock: a store whose lock can't be taken is an error, not one without.
func TestNoLock(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "host.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	if bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{StoreDir: dir}); err == nil {
		bus.Close()
		t.Error("a store without a lock was opened")
	}
}

// BenchmarkJoin measures the way into a store that another process has open.
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

// BenchmarkTakeover measures the time from the end of a host, its orderly close
// included, to the first event that a guest has stored.
func BenchmarkTakeover(b *testing.B) {
	dir := b.TempDir()
	host := openBus(b, dir)
	var total time.Duration
	n := 0
	for b.Loop() {
		guest := openBus(b, dir)
		p := publisher(b, guest, event.Path{{SessionID: fmt.Sprint("s", n)}})
		n++
		if err := errors.Join(p.Publish(b.Context(), delta(0)), p.Flush(b.Context())); err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if err := host.Close(); err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(p.Publish(b.Context(), delta(1)), p.Flush(b.Context())); err != nil {
			b.Fatal(err)
		}
		total += time.Since(start)
		host = guest
	}
	b.ReportMetric(float64(total.Milliseconds())/float64(n), "ms/takeover")
}

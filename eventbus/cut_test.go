package eventbus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
	"github.com/agentworker/worker/internal/tcpline"
)

// newLine returns a line to a server that can be cut.
func newLine(t *testing.T, to string) *tcpline.Line {
	t.Helper()
	l, err := tcpline.Listen(to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// TestSilentCut: a worker whose line to a node of a cluster is silently cut switches to
// another node. There it publishes, reads, and uses buckets.
func TestSilentCut(t *testing.T) {
	t.Parallel() // with everything that waits in the same way
	// 6 s until the cut is noticed, on a quiet machine; 4 minutes with the library's settings.
	const most = 45 * time.Second
	c := newCluster(t)
	var lines []*tcpline.Line
	var urls []string
	for _, n := range c.nodes {
		l := newLine(t, net.JoinHostPort("127.0.0.1", strconv.Itoa(n.Port)))
		lines = append(lines, l)
		urls = append(urls, "nats://"+l.Addr())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	bus, err := eventbus.Open(ctx, "ws", &eventbus.Options{URL: strings.Join(urls, ","), Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	kv, err := bus.Store().EnsureBucket(ctx, jetstream.KeyValueConfig{Bucket: "B"})
	if err != nil {
		t.Fatal(err)
	}
	_, js := c.client()
	c.healthy(ctx, js, eventbus.Stream, "KV_B")
	path := event.Path{{SessionID: "r"}}
	p := publisher(t, bus, path)
	seen := make(chan int, 100)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	following.Go(func() {
		for d, err := range bus.Follow(ctx, path, &eventbus.FollowOptions{Live: true}) {
			if err != nil {
				if ctx.Err() == nil {
					t.Errorf("following: %v", err)
				}
				return
			}
			ev, err := event.Decode(d.Raw)
			if err != nil {
				t.Error(err)
				return
			}
			seen <- ev.(event.ContentDelta).Offset
		}
	})
	step := func(n int) (wrote, read time.Duration) {
		t.Helper()
		start := time.Now()
		if _, err := kv.Put(ctx, "key", []byte("value")); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(p.Publish(ctx, delta(n)), p.Flush(ctx)); err != nil {
			t.Fatal(err)
		}
		wrote = time.Since(start)
		for got := -1; got != n; {
			select {
			case got = <-seen:
			case <-ctx.Done():
				t.Fatalf("event %d is not read", n)
			}
		}
		return wrote, time.Since(start)
	}
	step(0)
	for i, l := range lines { // one of them has the connection, one that for publishing
		l.Cut(nil)
		wrote, read := step(i + 1)
		t.Logf("cut from node %d: an event is stored after %s and read after %s", i, wrote.Round(time.Millisecond), read.Round(time.Millisecond))
		if read > most {
			t.Errorf("cut from node %d: want %s at most", i, most)
		}
		l.Join()
	}
}

// onText returns a function that takes what is sent by parts, and calls f once when a
// text was.
func onText(text string, f func()) func([]byte) {
	var all []byte
	found := false
	return func(sent []byte) {
		if all = append(all, sent...); !found && bytes.Contains(all, []byte(text)) {
			found = true
			f()
		}
	}
}

// TestEntriesGoOn: reading the entries of all logs goes on where the store is silent
// for a while in the middle of it.
func TestEntriesGoOn(t *testing.T) {
	srv := natstest.Start(t, server.Options{})
	l := newLine(t, srv.Addr().String())
	bus := openURL(t, "nats://"+l.Addr())
	const entries = 40
	large, err := json.Marshal(strings.Repeat("x", 200_000)) // more than is read ahead
	if err != nil {
		t.Fatal(err)
	}
	p := publisher(t, bus, event.Path{{SessionID: "r"}})
	for range entries {
		if err := p.Append(t.Context(), "kind", large); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A reader to which the store is silent looks whether there is more.
	looked := make(chan struct{})
	n := 0
	var joining sync.WaitGroup
	for _, err := range bus.Entries(t.Context(), "kind", time.Now().Add(-time.Hour)) {
		if err != nil {
			t.Fatalf("behind %d entries: %v", n, err)
		}
		if n++; n == 1 {
			l.Cut(onText("$JS.API.DIRECT.GET.", func() { close(looked) }))
			joining.Go(func() {
				select {
				case <-looked:
				case <-time.After(time.Minute):
					t.Error("the reader does not look whether there is more")
				}
				l.Join()
			})
		}
	}
	joining.Wait()
	if n != entries {
		t.Errorf("%d entries, want %d", n, entries)
	}
}

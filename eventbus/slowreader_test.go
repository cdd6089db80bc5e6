package eventbus_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/sync/errgroup"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/bustest"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
)

// TestSlowReaders: readers that stop at their first event hold little of what follows,
// whether they replay it or it comes while they stand still.
func TestSlowReaders(t *testing.T) {
	const (
		readers = 10
		size    = 900_000
	)
	events := rounds(20, 40)
	for name, opts := range map[string]*eventbus.Options{
		"embedded": {StoreDir: t.TempDir()},
		"external": {URL: natstest.Start(t, server.Options{}).ClientURL()},
	} {
		t.Run(name, func(t *testing.T) {
			bus := bustest.Open(t, opts)
			path := event.Path{{SessionID: "ses_slow"}}
			p, err := bus.Publisher(path)
			if err != nil {
				t.Fatal(err)
			}
			large := event.TurnComplete{Message: event.TurnMessage{Text: strings.Repeat("x", size)}}
			publish := func(n int) {
				t.Helper()
				for range n {
					if err := p.Publish(t.Context(), large); err != nil {
						t.Fatal(err)
					}
				}
				if err := p.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			publish(events / 2)
			before := heap()

			// The client library drops what is ahead by too much, and then it takes minutes.
			limited, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			reading, ctx := errgroup.WithContext(limited)
			stand, release := make(chan struct{}, readers), make(chan struct{})
			for i := range readers {
				reading.Go(func() error {
					got := 0
					for _, err := range bus.Follow(ctx, path, &eventbus.FollowOptions{Live: true}) {
						if err != nil {
							return fmt.Errorf("reader %d, after %d events: %w", i, got, err)
						}
						if got++; got == 1 {
							stand <- struct{}{}
							<-release
						}
						if got == events {
							break
						}
					}
					return nil
				})
			}
			for range readers {
				await(ctx, stand)
			}
			publish(events / 2)
			held := heap() - before
			close(release)
			if err := reading.Wait(); err != nil {
				t.Fatal(err)
			}
			// A few events each, and what the server of this process has in its caches.
			if limit := int64(readers*8<<20 + 64<<20); held > limit {
				t.Errorf("%d slow readers hold %d MiB, want at most %d", readers, held>>20, limit>>20)
			}
			t.Logf("%d MiB are held", held>>20)
		})
	}
}

// heap returns how many bytes are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

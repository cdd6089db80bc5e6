package eventbus_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
)

// TestTakers: of a session's own process, which is at work and ends it, and of others that
// end it in its place at the same time, one does. Nothing is stored behind the end, and all
// others are told.
func TestTakers(t *testing.T) {
	for name, open := range pairs {
		t.Run(name, func(t *testing.T) {
			running, ending := open(t)
			checkTakers(t, running, ending, 20)
		})
	}
}

// TestClusterTakers is TestTakers in a cluster.
func TestClusterTakers(t *testing.T) {
	running, ending := clusterPair(t)
	checkTakers(t, running, ending, 5)
}

func checkTakers(t *testing.T, running, ending *eventbus.Bus, sessions int) {
	t.Helper()
	byOwner := 0
	for i := range sessions {
		path := event.Path{{SessionID: fmt.Sprint("ses_", i)}}
		owner := publisher(t, running, path)
		if err := errors.Join(owner.Publish(t.Context(), event.Usage{}), owner.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
		const takers = 4
		ended := make([]error, takers+1)
		var all sync.WaitGroup
		for n := range takers {
			bus := []*eventbus.Bus{running, ending}[n%2]
			all.Go(func() {
				var p *eventbus.Publisher
				if p, ended[n] = bus.Take(t.Context(), path, 0, "boot_owner", fmt.Sprint("boot_", n)); ended[n] == nil {
					ended[n] = p.End(t.Context(), event.SessionEnd{Status: "interrupted"})
				}
			})
		}
		all.Go(func() {
			for range 100 * i {
				if owner.Publish(t.Context(), event.Usage{}) != nil {
					break
				}
			}
			ended[takers] = owner.End(t.Context(), event.SessionEnd{Status: "completed"})
		})
		all.Wait()
		won := -1
		for n, err := range ended {
			switch {
			case err == nil && won < 0:
				won = n
			case err == nil:
				t.Errorf("session %d was ended by %d and by %d", i, won, n)
			case !errors.Is(err, eventbus.ErrEnded):
				t.Errorf("session %d, %d: %v", i, n, err)
			}
		}
		stored := replay(t, ending, path, 0)
		for at, d := range stored {
			if d.Ends() != (at == len(stored)-1) {
				t.Errorf("session %d: event %d of %d is %s", i, at+1, len(stored), d.Raw)
			}
		}
		if won == takers {
			byOwner++
		}
		if won < 0 {
			t.Errorf("nobody has ended session %d: %v", i, ended)
		}
	}
	t.Logf("%d of %d sessions were ended by their own process", byOwner, sessions)
}

// TestTakeBusy: a session whose process goes on publishing is taken from it.
func TestTakeBusy(t *testing.T) {
	for name, open := range pairs {
		t.Run(name, func(t *testing.T) {
			running, ending := open(t)
			path := event.Path{{SessionID: "ses_busy"}}
			owner := publisher(t, running, path)
			begun := make(chan struct{})
			var publishing sync.WaitGroup
			publishing.Go(func() {
				for i := 0; ; i++ {
					err := owner.Publish(t.Context(), event.Usage{})
					if i == 1000 {
						close(begun)
					}
					if err != nil {
						if !errors.Is(err, eventbus.ErrEnded) {
							t.Errorf("publishing: %v", err)
						}
						return
					}
				}
			})
			<-begun
			p, err := ending.Take(t.Context(), path, 0, "boot_owner", "boot_ending")
			if err != nil {
				t.Fatal(err)
			}
			publishing.Wait()
			behind := replay(t, ending, path, p.Fence())
			if err := p.End(t.Context(), event.SessionEnd{Status: "interrupted"}); err != nil || len(behind) > 0 {
				t.Errorf("%v, and %d events are behind the fence", err, len(behind))
			}
		})
	}
}

// TestFencesKept: fences of a server that was restarted are there.
func TestFencesKept(t *testing.T) {
	opts := server.Options{StoreDir: t.TempDir()}
	path := event.Path{{SessionID: "ses_kept"}}
	srv := natstest.Start(t, opts)
	p, err := openURL(t, srv.ClientURL()).Take(t.Context(), path, 0, "boot_owner", "boot_ending")
	if err != nil {
		t.Fatal(err)
	}
	srv.Shutdown()
	srv.WaitForShutdown()
	bus := openURL(t, natstest.Start(t, opts).ClientURL())
	if _, err := bus.Take(t.Context(), path, 0, "boot_owner", "boot_third"); !errors.Is(err, eventbus.ErrEnded) {
		t.Errorf("who knows of no fence: %v, want ErrEnded", err)
	}
	if _, err := bus.Take(t.Context(), path, p.Fence(), "boot_owner", "boot_third"); err != nil {
		t.Errorf("who knows of it: %v", err)
	}
}

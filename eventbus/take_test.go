package eventbus_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/bustest"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
)

// TestTakers: a session's own process and others end it at the same time, and one succeeds.
// Nothing is stored after the end, and the others get an error.
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
	t.Parallel() // it waits, most of its time
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
			taken := len(replay(t, ending, path, 0))
			publishing.Wait()
			if err := p.End(t.Context(), event.SessionEnd{Status: "interrupted"}); err != nil {
				t.Error(err)
			}
			if stored := replay(t, ending, path, 0); len(stored) != taken+1 || !stored[taken].Ends() {
				t.Errorf("it had %d events when it was taken, and has %d with its end", taken, len(stored))
			}
		})
	}
}

// midBatch is a process of which half of a batch is on its way, with the events of two sessions.
type midBatch struct {
	srv             *server.Server
	running, ending *eventbus.Bus // of the process, and of another one
	path, kept      event.Path
	owner, other    *eventbus.Publisher // of path, and of kept
	release         func()              // lets the other half arrive
}

// midEach is how many events each session of a midBatch has, except for the first one of path.
const midEach = 120

func newMidBatch(t *testing.T) *midBatch {
	srv := natstest.Start(t, server.Options{})
	line := newLine(t, srv.Addr().String())
	h := &midBatch{
		srv: srv, running: openURL(t, "nats://"+line.Addr()), ending: openURL(t, srv.ClientURL()),
		path: event.Path{{SessionID: "ses_half"}}, kept: event.Path{{SessionID: "ses_kept"}},
	}
	h.owner, h.other = publisher(t, h.running, h.path), publisher(t, h.running, h.kept)
	if err := errors.Join(h.owner.Publish(t.Context(), event.Usage{}), h.owner.Flush(t.Context())); err != nil { // it is connected
		t.Fatal(err)
	}
	queued, half, taken := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var once sync.Once
	h.release = sync.OnceFunc(func() { close(taken) })
	t.Cleanup(h.release)
	line.Watch(func(sent []byte) {
		<-queued
		if bytes.Contains(sent, []byte(".fail.100.")) { // of a batch
			once.Do(func() { close(half) })
			<-taken
		}
	})
	for i := range midEach {
		ev := event.ToolCallEnd{ToolCallID: fmt.Sprint(i), Result: strings.Repeat("x", 1000)}
		if err := errors.Join(h.owner.Publish(t.Context(), ev), h.other.Publish(t.Context(), ev)); err != nil {
			t.Fatal(err)
		}
	}
	close(queued)
	<-half
	seen := 0
	for _, err := range h.ending.Follow(t.Context(), h.path, &eventbus.FollowOptions{Live: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen == 2 { // the batch has begun
			break
		}
	}
	return h
}

// checkKept checks that the other session has lost nothing.
func (h *midBatch) checkKept(t *testing.T) {
	t.Helper()
	if err := h.other.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	if stored := replay(t, h.ending, h.kept, 0); len(stored) != midEach {
		t.Errorf("of the other session %d events are stored, want %d", len(stored), midEach)
	}
}

// TestTakeMidBatch: a session is taken from its process and ended while half of a batch is on
// its way. The other half, which arrives later, is not stored.
func TestTakeMidBatch(t *testing.T) {
	h := newMidBatch(t)
	p, err := h.ending.Take(t.Context(), h.path, 0, "boot_owner", "boot_ending")
	if err != nil {
		t.Fatal(err)
	}
	before := len(replay(t, h.ending, h.path, 0))
	if err := p.End(t.Context(), event.SessionEnd{Status: "interrupted"}); err != nil {
		t.Error(err)
	}
	h.release()
	if err := h.owner.Flush(t.Context()); !errors.Is(err, eventbus.ErrEnded) {
		t.Errorf("flushing what was taken: %v, want ErrEnded", err)
	}
	if stored := replay(t, h.ending, h.path, 0); before < 2 || before > midEach || len(stored) != before+1 || !stored[before].Ends() {
		t.Errorf("it had %d events when it was taken, and has %d with its end", before, len(stored))
	}
	h.checkKept(t)
}

// TestTakeOwnMidBatch: a process takes a session that it has itself while half of a batch is on
// its way. It waits for the other half, and the answer to the batch reaches who has sent it:
// else the connection would be given up.
func TestTakeOwnMidBatch(t *testing.T) {
	h := newMidBatch(t)
	connections := connected(t, h.srv)
	var taking sync.WaitGroup
	defer taking.Wait()
	taking.Go(func() {
		p, err := h.running.Take(t.Context(), h.path, 0, "boot_owner", "boot_owner")
		if err == nil {
			err = p.End(t.Context(), event.SessionEnd{Status: "interrupted"})
		}
		if err != nil {
			t.Errorf("taking it: %v", err)
		}
	})
	for bustest.LastFence(t, h.ending, h.path) == 0 {
		runtime.Gosched()
	}
	h.release()
	taking.Wait()
	h.checkKept(t)
	if stored := replay(t, h.ending, h.path, 0); len(stored) < 52 || !stored[len(stored)-1].Ends() { // 50 of the batch at least
		t.Errorf("%d events are stored", len(stored))
	}
	if n := connected(t, h.srv) - connections; n > 0 {
		t.Errorf("%d new connections", n)
	}
}

// connected returns how many connections a server has had.
func connected(t *testing.T, srv *server.Server) uint64 {
	t.Helper()
	state, err := srv.Varz(nil)
	if err != nil {
		t.Fatal(err)
	}
	return state.TotalConnections
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

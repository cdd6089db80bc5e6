package eventbus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/bustest"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
)

// pairs open the buses of two processes on one store.
var pairs = map[string]func(t *testing.T) (running, ending *eventbus.Bus){
	"external": func(t *testing.T) (running, ending *eventbus.Bus) {
		url := natstest.Start(t, server.Options{}).ClientURL()
		return openURL(t, url), openURL(t, url)
	},
	"embedded": func(t *testing.T) (running, ending *eventbus.Bus) {
		dir := t.TempDir()
		ending = openBus(t, dir)
		return openBus(t, dir), ending
	},
}

// clusterPair opens the buses of two processes on a cluster.
func clusterPair(t *testing.T) (running, ending *eventbus.Bus) {
	c := newCluster(t)
	open := func() *eventbus.Bus {
		return bustest.Open(t, &eventbus.Options{URL: c.urls(), Replicas: 3})
	}
	_, js := c.client()
	running = open()
	c.healthy(t.Context(), js, eventbus.Stream)
	return running, open()
}

// TestNothingBehindTheEnd: a process publishes on in a session that another one has ended,
// which took it for gone. The store refuses that, the publisher reports it, and the other
// sessions of the process lose nothing.
func TestNothingBehindTheEnd(t *testing.T) {
	for name, open := range pairs {
		t.Run(name, func(t *testing.T) {
			running, ending := open(t)
			taken, kept := event.Path{{SessionID: "ses_taken"}}, event.Path{{SessionID: "ses_kept"}}
			p, other := publisher(t, running, taken), publisher(t, running, kept)
			if err := errors.Join(p.Publish(t.Context(), event.Usage{}), p.Flush(t.Context())); err != nil {
				t.Fatal(err)
			}
			end(t, ending, taken)
			const each = 600 // more than a batch
			for range each {
				if err := other.Publish(t.Context(), event.Usage{}); err != nil {
					t.Fatal(err)
				}
				if err := p.Publish(t.Context(), event.Usage{}); err != nil && !errors.Is(err, eventbus.ErrEnded) {
					t.Fatal(err)
				}
			}
			if err := p.Flush(t.Context()); !errors.Is(err, eventbus.ErrEnded) {
				t.Errorf("flushing what follows the end: %v, want ErrEnded", err)
			}
			if err := other.Flush(t.Context()); err != nil {
				t.Error(err)
			}
			if stored := replay(t, ending, taken, 0); len(stored) != 2 || !stored[1].Ends() {
				t.Errorf("%d events are stored, want one and the end", len(stored))
			}
			if stored := replay(t, ending, kept, 0); len(stored) != each {
				t.Errorf("of the other session %d events are stored, want %d", len(stored), each)
			}
		})
	}
}

// end ends a session instead of its process.
func end(t *testing.T, bus *eventbus.Bus, path event.Path) {
	t.Helper()
	p, err := bus.Take(t.Context(), path, 0, "boot_gone", "boot_ending")
	if err == nil {
		err = p.End(t.Context(), event.SessionEnd{Status: "interrupted"})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestTakeOver: several processes take a session over or end it, and one is first. After that
// nothing of the previous process is stored, not even its end. The stream ends as the first
// one says.
func TestTakeOver(t *testing.T) {
	for name, open := range pairs {
		t.Run(name, func(t *testing.T) {
			running, taking := open(t)
			path := event.Path{{SessionID: "ses_root"}, {SessionID: "ses_taken", AgentType: "explore"}}
			old := publisher(t, running, path)
			if err := errors.Join(old.Publish(t.Context(), event.Usage{}), old.Flush(t.Context())); err != nil {
				t.Fatal(err)
			}
			resumed := event.SessionResumed{Takeover: 1, BootID: "boot_b"}
			next, err := taking.TakeOver(t.Context(), path, 0, resumed)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := running.TakeOver(t.Context(), path, 0, event.SessionResumed{Takeover: 1, BootID: "boot_c"}); !errors.Is(err, eventbus.ErrEnded) {
				t.Errorf("a second takeover: %v", err)
			}
			if err := old.End(t.Context(), event.SessionEnd{Status: "completed"}); !errors.Is(err, eventbus.ErrEnded) {
				t.Errorf("the end by the process that had it: %v", err)
			}
			if err := old.Publish(t.Context(), event.Usage{}); !errors.Is(err, eventbus.ErrEnded) {
				t.Errorf("an event of the process that had it: %v", err)
			}
			if end, err := running.Last(t.Context(), path, "session_end"); end.Seq != 0 || err != nil {
				t.Errorf("it has the end %d, %v", end.Seq, err)
			}
			for range 300 { // more than a batch
				if err := next.Publish(t.Context(), event.Usage{}); err != nil {
					t.Fatal(err)
				}
			}
			if err := next.End(t.Context(), event.SessionEnd{Status: "completed"}); err != nil {
				t.Fatal(err)
			}
			if _, err := running.TakeOver(t.Context(), path, next.Fence(), event.SessionResumed{Takeover: 2}); !errors.Is(err, eventbus.ErrEnded) {
				t.Errorf("a takeover after the end: %v", err)
			}
			stored := replay(t, running, path, 0)
			if len(stored) != 303 || stored[1].Seq <= next.Fence() || !stored[302].Ends() {
				t.Errorf("%d events", len(stored))
			}
			if end, err := running.Last(t.Context(), path, "session_end"); end.Seq != stored[len(stored)-1].Seq || err != nil {
				t.Errorf("it has the end %d, %v", end.Seq, err)
			}
		})
	}
}

// TestQueueOfRefused: what is queued behind the entries of a session that was refused is
// stored.
func TestQueueOfRefused(t *testing.T) {
	bus := openBus(t, t.TempDir())
	refused, other := publisher(t, bus, event.Path{{SessionID: "ses_refused"}}), publisher(t, bus, event.Path{{SessionID: "ses_other"}})
	for _, p := range []*eventbus.Publisher{refused, other} {
		if err := errors.Join(p.Publish(t.Context(), event.Usage{}), p.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if err := eventbus.QueueBehindRefused(t.Context(), refused, other); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := other.Flush(ctx); err != nil {
		t.Error(err)
	}
}

// TestFence: a session that begins below one that another process ends is stored before the
// fence, or refused, and its publisher reports that. Other sessions of its process lose
// nothing. Whoever knows of the fence begins sessions there.
func TestFence(t *testing.T) {
	for name, open := range pairs {
		t.Run(name, func(t *testing.T) {
			running, ending := open(t)
			checkFence(t, running, ending)
		})
	}
}

// TestClusterFence is TestFence in a cluster, which refuses what it can't check yet.
func TestClusterFence(t *testing.T) {
	t.Parallel() // it waits, most of its time
	running, ending := clusterPair(t)
	checkFence(t, running, ending)
}

func checkFence(t *testing.T, running, ending *eventbus.Bus) {
	t.Helper()
	root := event.Path{{SessionID: "ses_root"}}
	begin := func(bus *eventbus.Bus, id string, above *eventbus.Publisher) *eventbus.Publisher {
		t.Helper()
		p, err := bus.Opener(root.Child(id, "explore"), above)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := p.Append(t.Context(), "note", json.RawMessage(`{}`)); err != nil && !errors.Is(err, eventbus.ErrEnded) {
				t.Fatal(err)
			}
			if err := p.Publish(t.Context(), event.Usage{}); err != nil && !errors.Is(err, eventbus.ErrEnded) {
				t.Fatal(err)
			}
		}
		return p
	}
	flush := func(p *eventbus.Publisher) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		return p.Flush(ctx)
	}
	above, other := publisher(t, running, root), publisher(t, running, event.Path{{SessionID: "ses_other"}})
	var early []*eventbus.Publisher
	for i := range 20 { // more than one in a batch
		early = append(early, begin(running, fmt.Sprint("ses_early", i), above))
		if err := above.Publish(t.Context(), event.Usage{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range early {
		if err := flush(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := ending.Fence(t.Context(), root, "boot_other", "boot_ending"); err != nil {
		t.Fatal(err)
	}
	late := begin(running, "ses_late", above)
	if err := above.Publish(t.Context(), event.Usage{}); err != nil && !errors.Is(err, eventbus.ErrEnded) {
		t.Fatal(err)
	}
	for range 300 { // more than a batch
		if err := other.Publish(t.Context(), event.Usage{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := flush(late); !errors.Is(err, eventbus.ErrEnded) {
		t.Errorf("what begins behind the fence: %v, want ErrEnded", err)
	}
	if err := flush(above); !errors.Is(err, eventbus.ErrEnded) {
		t.Errorf("what the session itself says behind the fence: %v, want ErrEnded", err)
	}
	for _, p := range append(early, other) {
		if err := errors.Join(p.Publish(t.Context(), event.Usage{}), flush(p)); err != nil {
			t.Errorf("a session that had begun before: %v", err)
		}
	}
	if events := replay(t, ending, root.Child("ses_late", "explore"), 0); len(events) != 0 {
		t.Errorf("%d events are stored of what begins behind the fence", len(events))
	}
	for e, err := range ending.Log(t.Context(), root.Child("ses_late", "explore")) {
		t.Errorf("its log has a %s, %v", e.Kind, err)
	}
	next, err := ending.TakeOver(t.Context(), root, bustest.LastFence(t, ending, root), event.SessionResumed{Takeover: 1, BootID: "boot_next"})
	if err != nil {
		t.Fatal(err)
	}
	if err := flush(begin(ending, "ses_known", next)); err != nil {
		t.Errorf("a session that is begun by the one that has taken over: %v", err)
	}
	if err := running.Fence(t.Context(), root, "boot_other", "boot_third"); !errors.Is(err, eventbus.ErrEnded) {
		t.Errorf("a fence by who takes it for another process's: %v, want ErrEnded", err)
	}
	if err := running.Fence(t.Context(), root, "boot_next", "boot_third"); err != nil {
		t.Error(err)
	}
}

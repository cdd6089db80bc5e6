package recovery_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/bustest"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/recovery"
	"github.com/agentworker/worker/session/store"
)

// TestChildEndsFirst: one process is held up while it recovers, after it has marked a child
// and before it has ended it. Another process recovers meanwhile. The parent ends after all
// below it, and each session ends once.
func TestChildEndsFirst(t *testing.T) {
	bus := bustest.Open(t, &eventbus.Options{StoreDir: t.TempDir()})
	var stores [2]*store.Store
	for i := range stores {
		var err error
		if stores[i], err = store.Open(t.Context(), bus); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 25 {
		boot := fmt.Sprint("boot_gone", round)
		root := event.Path{{SessionID: fmt.Sprint("ses_root", round), AgentType: "lead"}}
		child := root.Child(fmt.Sprint("ses_child", round), "explore")
		below := child.Child(fmt.Sprint("ses_below", round), "explore")
		for _, path := range []event.Path{root, child, below} {
			killed(t, bus, path, boot)
		}
		at := []string{"ses_below", "ses_child", "ses_root"}[round%3] + fmt.Sprint(round)
		held, other := make(chan struct{}), make(chan struct{})
		recovery.BeforeEnd(stores[0].Recovery, func(id string) {
			if id == at {
				close(held)
				<-other
			}
		})
		var first sync.WaitGroup
		first.Go(func() {
			if n, err := stores[0].Recovery.Recover(t.Context()); n != 3 || err != nil {
				t.Errorf("Recover: %d, %v", n, err)
			}
		})
		<-held
		if n, err := stores[1].Recovery.Recover(t.Context()); n != 0 || err != nil {
			t.Errorf("Recover while another process recovers: %d, %v", n, err)
		}
		close(other)
		first.Wait()
		ended := ends(t, bus, root)
		want := fmt.Sprint([]string{below[2].SessionID, child[1].SessionID, root[0].SessionID})
		if fmt.Sprint(ended) != want {
			t.Errorf("round %d, held up at %s: the sessions ended in the order %v, want %s", round, at, ended, want)
		}
	}
}

// TestRecoverCutOff: a process exits while it recovers, after it has marked a session as
// its own to end and before it has ended it. The next one ends the session at once.
func TestRecoverCutOff(t *testing.T) {
	bus := bustest.Open(t, &eventbus.Options{StoreDir: t.TempDir()})
	s, err := store.Open(t.Context(), bus)
	if err != nil {
		t.Fatal(err)
	}
	for name, recover := range map[string]func(context.Context) error{
		"a command": func(ctx context.Context) error {
			_, err := s.Recovery.Recover(ctx)
			return err
		},
		"a worker": func(ctx context.Context) error {
			by, err := lease.Start(t.Context(), s.Leases, lease.Options{BootID: record.NewID("boot")})
			if err != nil {
				return err
			}
			_, err = s.Recovery.RecoverAs(ctx, by, recovery.Options{})
			return errors.Join(err, by.Close(t.Context(), false))
		},
	} {
		root := event.Path{{SessionID: record.NewID("ses"), AgentType: "lead"}}
		killed(t, bus, root, record.NewID("boot"))
		ctx, cancel := context.WithCancel(t.Context())
		recovery.BeforeEnd(s.Recovery, func(string) { cancel() })
		if err := recover(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("%s that is cut off: %v", name, err)
		}
		recovery.BeforeEnd(s.Recovery, nil)
		if n, err := s.Recovery.Recover(t.Context()); n != 1 || err != nil {
			t.Errorf("Recover after %s was cut off: %d, %v; want 1 session", name, n, err)
		}
	}
}

// TestRecoverMetadata: what a caller's metadata says does not count as the session's state.
func TestRecoverMetadata(t *testing.T) {
	bus := bustest.Open(t, &eventbus.Options{StoreDir: t.TempDir()})
	sessions, err := store.Open(t.Context(), bus)
	if err != nil {
		t.Fatal(err)
	}
	for _, look := range []string{"the first look", "a look at what has changed"} {
		root := event.Path{{SessionID: record.NewID("ses"), AgentType: "lead"}}
		boot := record.NewID("boot")
		killed(t, bus, root, boot)
		r := recordOf(root, boot)
		r.Metadata = json.RawMessage(`{"closed":true}`)
		put(t, bus, "AGENT_SESSIONS", r.ID, r)
		if n, err := sessions.Recovery.Recover(t.Context()); n != 1 || err != nil {
			t.Errorf("%s: Recover: %d, %v; want 1 session", look, n, err)
		}
	}
}

// TestRecoverLateChild: a process begins a session and exits while another one lists what
// it has left. That session ends too, and before its parent.
func TestRecoverLateChild(t *testing.T) {
	bus := bustest.Open(t, &eventbus.Options{StoreDir: t.TempDir()})
	sessions, err := store.Open(t.Context(), bus)
	if err != nil {
		t.Fatal(err)
	}
	root := event.Path{{SessionID: "ses_root", AgentType: "lead"}}
	killed(t, bus, root, "boot_gone")
	n, err := recovery.RecoverListed(t.Context(), sessions.Recovery, func() { killed(t, bus, root.Child("ses_child", "explore"), "boot_gone") })
	if n != 2 || err != nil {
		t.Errorf("Recover: %d, %v", n, err)
	}
	if got := fmt.Sprint(ends(t, bus, root)); got != "[ses_child ses_root]" {
		t.Errorf("the sessions ended in the order %s", got)
	}
}

// TestRecoverLateBeginning: the beginning of a session that a killed process has sent
// arrives late. Another process has listed what was left, and is about to end the session
// above. The record arrives late, too. Nothing of that session is stored after the end of
// its parent.
func TestRecoverLateBeginning(t *testing.T) {
	dir := t.TempDir()
	bus := bustest.Open(t, &eventbus.Options{StoreDir: dir})
	sessions, err := store.Open(t.Context(), bus)
	if err != nil {
		t.Fatal(err)
	}
	gone := bustest.Open(t, &eventbus.Options{StoreDir: dir})
	for name, end := range map[string]func(root string) error{
		"recovered": func(string) error {
			n, err := sessions.Recovery.Recover(t.Context())
			if n != 1 {
				t.Errorf("Recover: %d sessions", n)
			}
			return err
		},
		"stopped": func(root string) error {
			_, err := sessions.Recovery.Stop(t.Context(), root, "alice")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			boot := "boot_" + name
			root := event.Path{{SessionID: "ses_root" + name, AgentType: "lead"}}
			killed(t, bus, root, boot)
			child := root.Child("ses_child"+name, "explore")
			recovery.BeforeEnd(sessions.Recovery, func(string) {
				r := recordOf(child, boot)
				above, err := gone.Publisher(root)
				if err != nil {
					t.Fatal(err)
				}
				p, err := gone.Opener(child, above)
				if err != nil {
					t.Fatal(err)
				}
				err = errors.Join(log.OpenedEntry(r, "", nil).AppendTo(t.Context(), p), p.Publish(t.Context(), r.StartEvent()), p.Flush(t.Context()))
				if !errors.Is(err, eventbus.ErrEnded) {
					t.Errorf("beginning it late: %v, want ErrEnded", err)
				}
				put(t, bus, "AGENT_SESSIONS", r.ID, r)
			})
			err := end(root[0].SessionID)
			recovery.BeforeEnd(sessions.Recovery, nil)
			if err != nil {
				t.Fatal(err)
			}
			put(t, bus, lease.BucketName, boot, lease.Lease{Worker: lease.Worker{BootID: boot}, Ended: true})
			if _, err := sessions.Recovery.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := ends(t, bus, root); len(got) != 1 || got[0] != root[0].SessionID {
				t.Errorf("the sessions ended in the order %v", got)
			}
			for e, err := range bus.Log(t.Context(), child) {
				if err != nil || e.Kind != eventbus.FenceKind {
					t.Errorf("the log of the child has a %s, %v", e.Kind, err)
				}
			}
			if r, err := sessions.Index.Get(t.Context(), child[1].SessionID); !errors.Is(err, record.ErrNotFound) {
				t.Errorf("the child, which has never begun: %+v, %v", r, err)
			}
		})
	}
}

// TestRecoverTakenOver: a process is held up while it ends the sessions of another one. A
// third one takes it for dead and claims a session. That session is not ended.
func TestRecoverTakenOver(t *testing.T) {
	bus := bustest.Open(t, &eventbus.Options{StoreDir: t.TempDir()})
	sessions, err := store.Open(t.Context(), bus)
	if err != nil {
		t.Fatal(err)
	}
	for name, stored := range map[string]bool{"its record says so": true, "its record does not say so yet": false} {
		root := event.Path{{SessionID: record.NewID("ses"), AgentType: "lead"}}
		first := event.Path{{SessionID: record.NewID("ses"), AgentType: "lead"}}
		boot := record.NewID("boot")
		killed(t, bus, first, boot)
		killed(t, bus, root, boot)
		r := recordOf(root, boot)
		r.BootID, r.Takeovers = record.NewID("boot"), 1
		recovery.BeforeEnd(sessions.Recovery, func(id string) {
			if id != first[0].SessionID {
				return
			}
			if _, err := bus.TakeOver(t.Context(), root, bustest.LastFence(t, bus, root), event.SessionResumed{Takeover: 1, BootID: r.BootID}); err != nil {
				t.Fatal(err)
			}
			if stored {
				put(t, bus, "AGENT_SESSIONS", r.ID, r)
			}
		})
		n, err := sessions.Recovery.Recover(t.Context())
		recovery.BeforeEnd(sessions.Recovery, nil)
		if n != 1 || err != nil {
			t.Errorf("%s: Recover: %d, %v; want it to end only the other one", name, n, err)
		}
		if end, err := bus.Last(t.Context(), root, "session_end"); end.Seq != 0 || err != nil {
			t.Errorf("%s: the session that was taken over has ended: %v", name, err)
		}
		if got, err := sessions.Index.Get(t.Context(), r.ID); err != nil || got.BootID != r.BootID || got.Status.Ended() {
			t.Errorf("%s: its record is %+v, %v", name, got, err)
		}
		put(t, bus, lease.BucketName, r.BootID, lease.Lease{Worker: lease.Worker{BootID: r.BootID}, Ended: true})
		if n, err := sessions.Recovery.Recover(t.Context()); n != 1 || err != nil {
			t.Errorf("%s: Recover after its process has exited: %d, %v", name, n, err)
		}
	}
}

// events yields the events in a root's stream, each with the id of its session.
func events(t *testing.T, bus *eventbus.Bus, root event.Path) iter.Seq2[string, event.Event] {
	t.Helper()
	return func(yield func(string, event.Event) bool) {
		for d, err := range bus.Follow(t.Context(), root, nil) {
			if err != nil {
				t.Fatal(err)
			}
			around, ev, err := d.Event()
			if err != nil {
				t.Fatal(err)
			}
			id := root.IDs()[0]
			if n := len(around); n > 0 {
				id = around[n-1].SessionID
			}
			if !yield(id, ev) {
				return
			}
		}
	}
}

// ends returns the ids of the sessions in a root's stream, in the order of their ends.
func ends(t *testing.T, bus *eventbus.Bus, root event.Path) (ended []string) {
	t.Helper()
	for id, ev := range events(t, bus, root) {
		if _, ok := ev.(event.SessionEnd); ok {
			ended = append(ended, id)
		}
	}
	return ended
}

// TestBeginsBeforeChild: a process is killed after its sessions are listed, while the
// entries that they begin with are lost or on their way. Each session begins before those
// below it.
func TestBeginsBeforeChild(t *testing.T) {
	bus := bustest.Open(t, &eventbus.Options{StoreDir: t.TempDir()})
	sessions, err := store.Open(t.Context(), bus)
	if err != nil {
		t.Fatal(err)
	}
	for logged := range 7 { // how many of the entries that the three begin with
		boot := fmt.Sprint("boot_gone", logged)
		root := event.Path{{SessionID: fmt.Sprint("ses_root", logged), AgentType: "lead"}}
		child := root.Child(fmt.Sprint("ses_child", logged), "explore")
		below := child.Child(fmt.Sprint("ses_below", logged), "explore")
		var want []string
		for i, path := range []event.Path{root, child, below} {
			want = append(want, path[i].SessionID)
			left(t, bus, path, boot, logged-2*i)
		}
		if n, err := sessions.Recovery.Recover(t.Context()); n != 3 || err != nil {
			t.Errorf("%d entries stored: Recover: %d, %v", logged, n, err)
		}
		var begun []string
		for path, ev := range events(t, bus, root) {
			if _, ok := ev.(event.SessionStart); ok {
				begun = append(begun, path)
			}
		}
		if !slices.Equal(begun, want) {
			t.Errorf("%d entries stored: the sessions begin in the order %v, want %v", logged, begun, want)
		}
		slices.Reverse(want)
		if ended := ends(t, bus, root); !slices.Equal(ended, want) {
			t.Errorf("%d entries stored: the sessions ended in the order %v, want %v", logged, ended, want)
		}
		for _, id := range want {
			if r, err := sessions.Index.Get(t.Context(), id); err != nil || !r.Closed || r.Status != record.Interrupted || r.BootID != boot {
				t.Errorf("%d entries stored: session %s: %+v, %v", logged, id, r, err)
			}
		}
	}
}

// killed stores a running session of a process that has exited.
func killed(t *testing.T, bus *eventbus.Bus, path event.Path, bootID string) {
	t.Helper()
	left(t, bus, path, bootID, 2)
}

func recordOf(path event.Path, bootID string) *record.Record {
	session := path[len(path)-1]
	r := &record.Record{
		Schema: record.Schema, ID: session.SessionID, Path: path, Agent: session.AgentType, Status: record.Running, Depth: len(path) - 1,
		BootID: bootID, CreatedAt: time.Now().UTC(),
	}
	if len(path) > 1 {
		r.ParentID = path[len(path)-2].SessionID
	}
	return r
}

// left is killed after at most n of the entries that the session begins with are stored.
func left(t *testing.T, bus *eventbus.Bus, path event.Path, bootID string, n int) {
	t.Helper()
	r := recordOf(path, bootID)
	p, err := bus.Publisher(path)
	if err == nil && n > 0 {
		err = log.OpenedEntry(r, "", nil).AppendTo(t.Context(), p)
	}
	if err == nil && n > 1 {
		err = p.Publish(t.Context(), r.StartEvent())
	}
	if err == nil {
		err = p.Flush(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	put(t, bus, "AGENT_SESSIONS", r.ID, r)
	put(t, bus, lease.BucketName, bootID, lease.Lease{Worker: lease.Worker{BootID: bootID}, Ended: true})
}

func put(t *testing.T, bus *eventbus.Bus, bucket, key string, value any) {
	t.Helper()
	kv, err := bus.JetStream().KeyValue(t.Context(), bucket)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(value)
	if err == nil {
		_, err = kv.Put(t.Context(), "ws."+key, data)
	}
	if err != nil {
		t.Fatal(err)
	}
}

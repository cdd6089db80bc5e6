package eventbus_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
)

// openExternal opens a bus on a server of its own. edit changes the stream of events
// before a bus uses it.
func openExternal(t *testing.T, edit func(*jetstream.StreamConfig)) *eventbus.Bus {
	t.Helper()
	url := natstest.Start(t, server.Options{}).ClientURL()
	open := func() *eventbus.Bus {
		bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		return bus
	}
	if edit != nil {
		maker := open()
		stream, err := maker.JetStream().Stream(t.Context(), eventbus.Stream)
		if err != nil {
			t.Fatal(err)
		}
		cfg := stream.CachedInfo().Config
		edit(&cfg)
		if _, err := maker.JetStream().CreateOrUpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		if err := maker.Close(); err != nil {
			t.Fatal(err)
		}
	}
	bus := open()
	t.Cleanup(func() {
		if err := bus.Close(); err != nil {
			t.Error(err)
		}
	})
	return bus
}

// stores are the kinds of stores that a bus may use.
var stores = map[string]func(t *testing.T) *eventbus.Bus{
	"embedded": func(t *testing.T) *eventbus.Bus { return openBus(t, t.TempDir()) },
	"external": func(t *testing.T) *eventbus.Bus { return openExternal(t, nil) },
	"external without batches": func(t *testing.T) *eventbus.Bus {
		return openExternal(t, func(cfg *jetstream.StreamConfig) { cfg.AllowBatchPublish = false })
	},
}

// TestDeltasJoin: deltas that come faster than the store takes them become fewer. The
// text and the offsets are the same, and nothing overtakes.
func TestDeltasJoin(t *testing.T) {
	for name, openStore := range stores {
		t.Run(name, func(t *testing.T) {
			const each = 5000
			bus := openStore(t)
			path := event.Path{{SessionID: "ses_r"}}
			p := publisher(t, bus, path)
			texts := map[string]*strings.Builder{"content_delta": {}, "reasoning_delta": {}}
			for i := range each {
				piece := fmt.Sprintf("w%d\n", i)
				content, reasoning := texts["content_delta"], texts["reasoning_delta"]
				var ev event.Event = event.ContentDelta{MessageID: "m", Delta: piece, Offset: content.Len()}
				if i%1000 < 500 {
					ev = event.ReasoningDelta{MessageID: "m", Delta: piece, Offset: reasoning.Len()}
				}
				texts[ev.Type()].WriteString(piece)
				if err := p.Publish(t.Context(), ev); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.End(t.Context(), event.SessionEnd{Status: "completed"}); err != nil {
				t.Fatal(err)
			}
			got := map[string]*strings.Builder{"content_delta": {}, "reasoning_delta": {}}
			stored := replay(t, bus, path, 0)
			for _, d := range stored[:len(stored)-1] {
				_, ev := open(t, d.Raw)
				var text string
				var offset int
				switch ev := ev.(type) {
				case event.ContentDelta:
					text, offset = ev.Delta, ev.Offset
				case event.ReasoningDelta:
					text, offset = ev.Delta, ev.Offset
				}
				if b := got[ev.Type()]; offset != b.Len() {
					t.Fatalf("a %s at %d, after %d bytes", ev.Type(), offset, b.Len())
				}
				if len(text) > 16<<10 {
					t.Errorf("a delta of %d bytes", len(text))
				}
				got[ev.Type()].WriteString(text)
			}
			for typ, want := range texts {
				if got[typ].String() != want.String() {
					t.Errorf("%s: %d bytes of text, want %d", typ, got[typ].Len(), want.Len())
				}
			}
			if len(stored) > each/2 {
				t.Errorf("%d deltas are stored as %d events", each, len(stored))
			}
		})
	}
}

// TestOneEnd: of several that end a session one does. What others have sent after a second end
// arrives.
func TestOneEnd(t *testing.T) {
	for name, openStore := range stores {
		t.Run(name, func(t *testing.T) {
			const sessions, enders, each = 10, 4, 20
			bus := openStore(t)
			var working sync.WaitGroup
			won := make([]chan error, sessions)
			for s := range sessions {
				won[s] = make(chan error, enders)
				path := event.Path{{SessionID: fmt.Sprint("ses_", s)}}
				p := publisher(t, bus, path)
				working.Go(func() { won[s] <- p.End(t.Context(), event.SessionEnd{Status: "completed"}) })
				for range enders - 1 {
					working.Go(func() {
						p, err := bus.Take(t.Context(), path, 0, "boot_owner", "boot_ending")
						if err == nil {
							err = p.End(t.Context(), event.SessionEnd{Status: "completed"})
						}
						won[s] <- err
					})
				}
				for other := range 2 {
					p := publisher(t, bus, path.Child("c", "explore"))
					working.Go(func() {
						for i := range each {
							if err := p.Publish(t.Context(), event.Usage{InputTokens: int64(i), OutputTokens: int64(other)}); err != nil {
								t.Error(err)
							}
						}
						if err := p.Flush(t.Context()); err != nil {
							t.Error(err)
						}
					})
				}
			}
			working.Wait()
			for s := range sessions {
				ended := 0
				for range enders {
					switch err := <-won[s]; {
					case err == nil:
						ended++
					case !errors.Is(err, eventbus.ErrEnded):
						t.Error(err)
					}
				}
				got := replay(t, bus, event.Path{{SessionID: fmt.Sprint("ses_", s)}, {SessionID: "c"}}, 0)
				if ended != 1 || len(got) != 2*each {
					t.Errorf("session %d was ended %d times; its child has %d events, want %d", s, ended, len(got), 2*each)
				}
				next := make(map[int64]int64) // by publisher
				for _, d := range got {
					_, ev := open(t, d.Raw)
					usage := ev.(event.Usage)
					if usage.InputTokens != next[usage.OutputTokens] {
						t.Errorf("an event of the child is %s, want number %d", d.Raw, next[usage.OutputTokens])
					}
					next[usage.OutputTokens]++
				}
			}
		})
	}
}

// TestRefused: an entry that the store refuses ends its publisher, and no later entry is
// stored. The others go on.
func TestRefused(t *testing.T) {
	for name, batches := range map[string]bool{"batches": true, "single": false} {
		t.Run(name, func(t *testing.T) {
			const each = 300
			bus := openExternal(t, func(cfg *jetstream.StreamConfig) {
				cfg.MaxMsgSize, cfg.AllowBatchPublish = 128<<10, batches
			})
			large := event.Error{Code: "x", Message: strings.Repeat("x", 200<<10)}
			var working sync.WaitGroup
			for s := range 4 {
				path := event.Path{{SessionID: fmt.Sprint("ses_", s)}}
				p := publisher(t, bus, path)
				working.Go(func() {
					var err error
					for i := 0; i < each && err == nil; i++ {
						if err = p.Publish(t.Context(), delta(i)); err == nil && s%2 == 0 && i == each/2 {
							err = p.Publish(t.Context(), large)
						}
					}
					if err == nil {
						err = p.Flush(t.Context())
					}
					got, want := replay(t, bus, path, 0), each
					if s%2 == 0 {
						want = each/2 + 1
						if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("storing event %d of session ses_%d", want+1, s)) {
							t.Errorf("session %d: %v", s, err)
						}
						if again := p.Publish(t.Context(), delta(0)); again == nil || err == nil || again.Error() != err.Error() {
							t.Errorf("session %d: after %v: %v", s, err, again)
						}
					} else if err != nil {
						t.Error(err)
					}
					if len(got) != want {
						t.Errorf("session %d has %d events, want %d", s, len(got), want)
					}
				})
			}
			working.Wait()
		})
	}
}

// TestRefusedTogether: of several entries of a batch that the store refuses each ends its
// own publisher, and no other.
func TestRefusedTogether(t *testing.T) {
	bus := openExternal(t, func(cfg *jetstream.StreamConfig) { cfg.MaxMsgSize = 128 << 10 })
	large := event.Error{Code: "x", Message: strings.Repeat("x", 200<<10)}
	for round := range 20 {
		var publishers []*eventbus.Publisher
		for s := range 3 {
			publishers = append(publishers, publisher(t, bus, event.Path{{SessionID: fmt.Sprintf("ses_%d_%d", round, s)}}))
		}
		good, bad := publishers[0], publishers[1:]
		for range 100 {
			if err := good.Publish(t.Context(), event.Usage{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range bad {
			_ = p.Publish(t.Context(), large) // its Flush says what has become of it
		}
		if err := errors.Join(good.Publish(t.Context(), event.Usage{}), good.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
		for s, p := range bad {
			if err := p.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("storing event 1 of session ses_%d_%d", round, s+1)) {
				t.Errorf("session %d, whose event is too large: %v", s+1, err)
			}
		}
	}
}

// TestOrderOfSessions: entries of several sessions are stored in the order of the
// calls.
func TestOrderOfSessions(t *testing.T) {
	for name, openStore := range stores {
		t.Run(name, func(t *testing.T) {
			const rounds = 300
			bus := openStore(t)
			root := event.Path{{SessionID: "ses_r"}}
			publishers := []*eventbus.Publisher{
				publisher(t, bus, root), publisher(t, bus, root.Child("a", "x")), publisher(t, bus, root.Child("b", "x")),
			}
			for i := range rounds {
				if err := publishers[i%3].Publish(t.Context(), event.Usage{InputTokens: int64(i)}); err != nil {
					t.Fatal(err)
				}
			}
			for _, p := range publishers {
				if err := p.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for i, d := range replay(t, bus, root, 0) {
				if _, ev := open(t, d.Raw); ev != event.Event(event.Usage{InputTokens: int64(i)}) {
					t.Fatalf("event %d is %s", i, d.Raw)
				}
			}
		})
	}
}

// TestFindsBatches: a stream without batches is reported.
func TestFindsBatches(t *testing.T) {
	for name, want := range map[string]bool{"external": false, "external without batches": true} {
		bus := stores[name](t)
		found := false
		for _, f := range bus.Health().Findings {
			found = found || strings.Contains(f.String(), "--allow-fast")
		}
		if found != want {
			t.Errorf("%s: findings %v", name, bus.Health().Findings)
		}
	}
}

package eventbus_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// TestLog: entries that are no events keep their place in the log of their session,
// no follower sees them, whatever their size, and they go with the session.
func TestLog(t *testing.T) {
	bus := openBus(t, t.TempDir())
	root := event.Path(nil).Child("ses_root", "")
	child := root.Child("ses_child", "explore")
	large, err := json.Marshal(strings.Repeat("x", int(bus.Conn().MaxPayload())))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []event.Path{root, child} {
		p, err := bus.Publisher(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []func() error{
			func() error { return p.Append(t.Context(), "opened", json.RawMessage(`{"schema":1}`)) },
			func() error { return p.Publish(t.Context(), event.StatusChange{Status: event.StatusQueued}) },
			func() error { return p.Append(t.Context(), "message", large) },
			func() error { return p.End(t.Context(), event.SessionEnd{Status: "completed"}) },
		} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, path := range []event.Path{root, child} {
		var kinds []string
		for e, err := range bus.Log(t.Context(), path) {
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, e.Kind)
			if want := e.Kind == "status_change" || e.Kind == "session_end"; e.Event != want {
				t.Errorf("%s: event %t", e.Kind, e.Event)
			}
			if e.Kind == "message" && string(e.Data) != string(large) {
				t.Errorf("the large entry has %d bytes, want %d", len(e.Data), len(large))
			}
		}
		if got := strings.Join(kinds, " "); got != "opened status_change message session_end" {
			t.Errorf("the log of %s: %s", path[len(path)-1].SessionID, got)
		}
	}
	checkEntries(t, bus)
	if got := replay(t, bus, root, 0); len(got) != 4 {
		t.Errorf("%d events on the root's stream, want 4", len(got))
	}
	if err := bus.Purge(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	for e := range bus.Log(t.Context(), child) {
		t.Errorf("after the deletion: %s", e.Kind)
	}
}

// checkEntries checks what is read of the entries "opened" of two sessions.
func checkEntries(t *testing.T, bus *eventbus.Bus) {
	t.Helper()
	for since, want := range map[time.Time]int{{}: 2, time.Now().Add(-time.Hour): 2, time.Now().Add(time.Hour): 0} {
		n := 0
		for e, err := range bus.Entries(t.Context(), "opened", since) {
			if err != nil || string(e.Data) != `{"schema":1}` {
				t.Fatalf("%s, %v", e.Data, err)
			}
			n++
		}
		if n != want {
			t.Errorf("%d entries of all logs since %s, want %d", n, since, want)
		}
	}
	var seqs []uint64 // sequence numbers
	for e, err := range bus.EntriesAfter(t.Context(), "opened", 0) {
		if err != nil || string(e.Data) != `{"schema":1}` {
			t.Fatalf("%s, %v", e.Data, err)
		}
		seqs = append(seqs, e.Seq)
	}
	if len(seqs) != 2 {
		t.Fatalf("%d entries of all logs, want 2", len(seqs))
	}
	for after, want := range map[uint64]int{seqs[0] - 1: 2, seqs[0]: 1, seqs[1]: 0, seqs[1] + 1000: 0} {
		n := 0
		for _, err := range bus.EntriesAfter(t.Context(), "opened", after) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != want {
			t.Errorf("%d entries of all logs after %d, want %d", n, after, want)
		}
	}
}

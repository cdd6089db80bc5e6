package eventbus_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
)

// smallServer starts a server that accepts messages of up to limit bytes, and opens
// a bus on it.
func smallServer(t *testing.T, limit int32) *eventbus.Bus {
	t.Helper()
	return openURL(t, natstest.Start(t, server.Options{MaxPayload: limit}).ClientURL())
}

// TestPayloads: events around the size limit of a message are read as they were
// published, whether they fit or not, at any depth, live and replayed.
func TestPayloads(t *testing.T) {
	const limit = 128 << 10
	bus := smallServer(t, limit)
	path := event.Path{{SessionID: "ses_root"}}
	for _, depth := range []int{0, 1, 4} {
		for len(path) <= depth {
			path = path.Child("ses_"+strings.Repeat("c", len(path)), `agent "x"`)
		}
		p := publisher(t, bus, path)
		var want []string
		for _, size := range []int{0, limit / 8, limit - 8<<10, limit - 4<<10, limit - 1, limit, 3 * limit} {
			text := func(letter string) string { return strings.Repeat(letter, size/len(letter)) }
			for _, ev := range []event.Event{
				event.ToolCallEnd{ToolCallID: "c", Result: text("x")},
				event.ContentDelta{Delta: text("\u2028")},
				event.ToolCallStart{ToolCallID: "c", Arguments: text("\"")},
			} {
				body, err := event.Encode(ev)
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, string(body))
				if err := p.Publish(t.Context(), ev); err != nil {
					t.Fatalf("depth %d, %d bytes: %v", depth, size, err)
				}
			}
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := replay(t, bus, path, 0)
		if len(got) != len(want) {
			t.Fatalf("depth %d: %d events, want %d", depth, len(got), len(want))
		}
		for i, d := range got {
			if string(d.Raw) != want[i] {
				t.Errorf("depth %d: event %d has %d bytes, want %d", depth, i, len(d.Raw), len(want[i]))
			}
		}
		// In the root's view there are envelopes around them.
		root := replay(t, bus, path[:1], got[0].Seq)
		for i, d := range root {
			raw := d.Raw
			for range depth {
				var env event.SubagentEvent
				if err := json.Unmarshal(raw, &env); err != nil {
					t.Fatal(err)
				}
				raw = env.Event
			}
			if string(raw) != want[i] {
				t.Errorf("depth %d, in the root's view: event %d has %d bytes, want %d", depth, i, len(raw), len(want[i]))
			}
		}
	}
}

// TestMissingPayload: an event without its content is delivered as a reference with a mark. It
// does not delay the events after it.
func TestMissingPayload(t *testing.T) {
	bus := smallServer(t, 64<<10)
	path := event.Path{{SessionID: "ses_root"}}.Child("ses_child", "explore")
	p := publisher(t, bus, path)
	for _, text := range []string{strings.Repeat("x", 100<<10), "small"} {
		if err := p.Publish(t.Context(), event.ToolCallEnd{Result: text}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	objects, err := bus.JetStream().ObjectStore(t.Context(), "AGENT_PAYLOADS")
	if err != nil {
		t.Fatal(err)
	}
	list, err := objects.List(t.Context())
	if err != nil || len(list) != 1 || !strings.HasPrefix(list[0].Name, "ws/ses_child/") {
		t.Fatalf("objects %v, %v", list, err)
	}
	if err := objects.Delete(t.Context(), list[0].Name); err != nil {
		t.Fatal(err)
	}
	got := replay(t, bus, path, 0)
	if len(got) != 2 || !strings.HasPrefix(string(got[0].Raw), `{"type":"tool_call_end","payloadRef":{"bucket":"AGENT_PAYLOADS","name":"ws/ses_child/`) ||
		!strings.HasSuffix(string(got[0].Raw), `"missing":true}}`) {
		t.Errorf("got %s", got[0].Raw)
	}

	// Content that has changed, or belongs to another workspace, is not returned.
	ref, err := bus.PutPayload(t.Context(), "ses_child", []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*event.PayloadRef){
		"another content":   func(r *event.PayloadRef) { r.SHA256 = strings.Repeat("0", 64) },
		"another workspace": func(r *event.PayloadRef) { r.Name = "other/ses_child/x" },
		"another bucket":    func(r *event.PayloadRef) { r.Bucket = "OTHER" },
	} {
		other := *ref
		change(&other)
		if _, err := bus.Payload(t.Context(), &other); !errors.Is(err, eventbus.ErrNoPayload) {
			t.Errorf("%s: %v, want ErrNoPayload", name, err)
		}
	}
	if data, err := bus.Payload(t.Context(), ref); err != nil || string(data) != "text" {
		t.Errorf("the content: %q, %v", data, err)
	}
}

// TestPayloadWordInText: an event with the word payloadRef in its text is not a
// reference.
func TestPayloadWordInText(t *testing.T) {
	bus := openBus(t, t.TempDir())
	path := event.Path{{SessionID: "ses_root"}}.Child("ses_child", "explore")
	p := publisher(t, bus, path)
	ev := event.AgentsChanged{Diagnostics: []json.RawMessage{json.RawMessage(`{"payloadRef":{"bucket":"AGENT_PAYLOADS","name":"ws/x"}}`)}}
	want, err := event.Encode(ev)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Publish(t.Context(), ev), p.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := replay(t, bus, path, 0); len(got) != 1 || string(got[0].Raw) != string(want) {
		t.Errorf("got %s\nwant %s", got[0].Raw, want)
	}
}

// TestPurge: only the events of a session and of those below it are deleted.
func TestPurge(t *testing.T) {
	bus := openBus(t, t.TempDir())
	root := event.Path{{SessionID: "ses_root"}}
	child, other := root.Child("ses_child", "explore"), root.Child("ses_childish", "explore")
	for _, path := range []event.Path{root, child, child.Child("ses_grand", "x"), other} {
		p := publisher(t, bus, path)
		if err := errors.Join(p.Publish(t.Context(), delta(0)), p.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if err := bus.Purge(t.Context(), child); err != nil {
		t.Fatal(err)
	}
	if left := replay(t, bus, root, 0); len(left) != 2 {
		t.Errorf("%d events are left, want the root's and the other child's", len(left))
	}
	if err := bus.Purge(t.Context(), nil); err == nil {
		t.Error("Purge accepted an empty path")
	}
}

// TestPurgePayloads: all payloads of a session are deleted, and those of others
// stay.
func TestPurgePayloads(t *testing.T) {
	bus := smallServer(t, 64<<10)
	gone, stays := event.Path{{SessionID: "ses_gone"}}, event.Path{{SessionID: "ses_stays"}}
	large := event.ToolCallEnd{Result: strings.Repeat("x", 200<<10)}
	left := func() uint64 {
		t.Helper()
		stream, err := bus.JetStream().Stream(t.Context(), eventbus.PayloadStream)
		if err != nil {
			t.Fatal(err)
		}
		return stream.CachedInfo().State.Msgs
	}
	var alone uint64
	for _, path := range []event.Path{stays, gone} {
		p := publisher(t, bus, path)
		if err := errors.Join(p.Publish(t.Context(), large), p.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
		if alone == 0 {
			alone = left()
		}
	}
	if err := bus.Purge(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if got := left(); got != alone {
		t.Errorf("%d messages are left in %s, want %d, of the other session", got, eventbus.PayloadStream, alone)
	}
	want, err := event.Encode(large)
	if err != nil {
		t.Fatal(err)
	}
	if got := replay(t, bus, stays, 0); len(got) != 1 || string(got[0].Raw) != string(want) {
		t.Errorf("the other session has %d events, want its own", len(got))
	}
}

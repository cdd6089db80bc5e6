// Package bustest opens buses for tests, and reads what they store.
package bustest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// Open returns a bus of the workspace "ws", which is closed at the end of the test.
func Open(t testing.TB, opts *eventbus.Options) *eventbus.Bus {
	t.Helper()
	bus, err := eventbus.Open(t.Context(), "ws", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bus.Close(); err != nil {
			t.Error(err)
		}
	})
	return bus
}

// Stored returns what a message of the event stream is. For an entry of a log that is its kind
// and its content, for an event the last token of its subject and all of its data.
func Stored(m *nats.Msg) (kind string, content json.RawMessage) {
	kind = m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	var entry map[string]json.RawMessage
	if kind == "entry" && json.Unmarshal(m.Data, &entry) == nil {
		for kind, content := range entry {
			return kind, content
		}
	}
	if kind == "turn" {
		if _, ev, err := event.Unwrap(m.Data); err == nil {
			return ev.Type(), m.Data
		}
	}
	return kind, m.Data
}

// LastFence returns the sequence number of a session's last fence; 0 means it has none.
func LastFence(t testing.TB, bus *eventbus.Bus, path event.Path) (seq uint64) {
	t.Helper()
	for e, err := range bus.Log(t.Context(), path) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == eventbus.FenceKind {
			seq = e.Seq
		}
	}
	return seq
}

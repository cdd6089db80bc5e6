// Package bustest opens buses for tests.
package bustest

import (
	"testing"

	"github.com/agentworker/worker/eventbus"
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

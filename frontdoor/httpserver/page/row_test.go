package page

import (
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/live"
)

// TestRowHidesNothing: the call in a row has no invisible character. Characters that turn the
// text around are removed, as everywhere in one line.
func TestRowHidesNothing(t *testing.T) {
	var tree live.Tree
	s := tree.Apply(live.Event{Path: event.Path{{SessionID: "s"}}, Event: event.ToolCallStart{ToolCallID: "c", ToolName: "shell_exec", Arguments: `{"command": "a \u202eb\u200bc"}`}})
	if r, want := newRow(s), `shell_exec a b\u{200b}c`; r.Tool != want {
		t.Errorf("%q, want %q", r.Tool, want)
	}
}

package page

import (
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus/event"
)

// TestRowHidesNothing: what a row says of a call has no character that is not seen. Those
// that turn the text are taken out, as everywhere in one line.
func TestRowHidesNothing(t *testing.T) {
	var r Row
	r.apply(1, time.Now(), event.ToolCallStart{ToolCallID: "c", ToolName: "shell_exec", Arguments: `{"command": "a \u202eb\u200bc"}`})
	if want := `shell_exec a b\u{200b}c`; r.Tool != want {
		t.Errorf("%q, want %q", r.Tool, want)
	}
}

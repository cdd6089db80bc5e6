package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/live"
)

func encode(t *testing.T, ev event.Event) json.RawMessage {
	t.Helper()
	raw, err := event.Encode(ev)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestDescribe(t *testing.T) {
	long := `{"path":"` + strings.Repeat("a/", 500) + `"}`
	tests := []struct {
		ev   event.Event
		want string
	}{
		{event.StatusChange{Status: event.StatusQueued}, "aide: queued"},
		{event.StatusChange{Status: event.StatusStreaming}, "aide: thinking"},
		{event.StatusChange{Status: event.StatusStreaming, Retry: &event.Retry{Reason: "rate_limited", Try: 2, Tries: 3, DelayMs: 42_500}},
			"aide: rate limited, waits 43 s for try 2 of 3"},
		{event.StatusChange{Status: event.StatusExecutingTool}, ""},
		{event.StatusChange{Status: event.StatusPaused}, "aide: paused"},
		{event.StatusChange{Status: event.StatusWaitingApproval}, ""},
		{event.ContentDelta{Delta: "x"}, ""},
		{event.ToolCallStart{ToolName: "grep", Step: 3, Arguments: `{"pattern":"veto","path":"session"}`}, "aide: step 3: grep veto session"},
		{event.ToolCallStart{ToolName: "grep", Step: 3, Arguments: `not JSON`}, "aide: step 3: grep"},
		{event.ToolCallStart{ToolName: "shell_exec", Step: 1, Arguments: `{"command":"ls\n-l \u001b[2Jx\u202e"}`}, "aide: step 1: shell_exec ls -l [2Jx"},
		{event.ToolCallStart{ToolName: "read_file", Step: 1, Arguments: long}, "aide: step 1: read_file " + strings.Repeat("a/", 29) + "a…"},
		{event.ToolApprovalRequired{ApprovalID: "apr_1", Question: event.Question{Title: "run a command", Parts: []event.QuestionPart{{Name: "command", Form: event.FormCommand, Text: "rm x"}}}}, "aide: waits for 'worker approvals approve apr_1': run rm x"},
		{event.Error{Message: "no model"}, "aide: error: no model"},
		{event.SessionEnd{Status: "completed"}, ""},
		{event.SubagentEvent{AgentType: "explore", SessionID: "s", Event: encode(t, event.StatusChange{Status: event.StatusStreaming})}, "aide > explore: thinking"},
		{event.SubagentEvent{AgentType: "explore", SessionID: "s", Event: encode(t, event.ContentDelta{})}, ""},
	}
	for _, tt := range tests {
		e, err := live.Decode("root", encode(t, event.SubagentEvent{AgentType: "aide", SessionID: "s", Event: encode(t, tt.ev)}), time.Time{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		var tree live.Tree
		got := describe(tree.Apply(e), e.Event)
		if got != tt.want {
			t.Errorf("describe(%#v) = %q, want %q", tt.ev, got, tt.want)
		}
		if utf8.RuneCountInString(got) > termtext.MaxMessage {
			t.Errorf("describe(%#v) has more than %d characters", tt.ev, termtext.MaxMessage)
		}
	}
}

package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentworker/worker/eventbus"
)

func encode(t *testing.T, ev eventbus.Event) json.RawMessage {
	t.Helper()
	raw, err := eventbus.Encode(ev)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestDescribe(t *testing.T) {
	long := `{"path":"` + strings.Repeat("a/", 500) + `"}`
	tests := []struct {
		ev   eventbus.Event
		want string
	}{
		{eventbus.StatusChange{Status: eventbus.StatusQueued}, "aide: queued"},
		{eventbus.StatusChange{Status: eventbus.StatusStreaming}, "aide: thinking"},
		{eventbus.StatusChange{Status: eventbus.StatusStreaming, Retry: &eventbus.Retry{Reason: "rate_limited", Try: 2, Tries: 3, DelayMs: 42_500}},
			"aide: rate limited, waits 43 s for try 2 of 3"},
		{eventbus.StatusChange{Status: eventbus.StatusExecutingTool}, ""},
		{eventbus.ContentDelta{Delta: "x"}, ""},
		{eventbus.ToolCallStart{ToolName: "grep", Step: 3, Arguments: `{"pattern":"veto","path":"session"}`}, "aide: step 3: grep veto session"},
		{eventbus.ToolCallStart{ToolName: "grep", Step: 3, Arguments: `not JSON`}, "aide: step 3: grep"},
		{eventbus.ToolCallStart{ToolName: "shell_exec", Step: 1, Arguments: `{"command":"ls\n-l \u001b[2Jx\u202e"}`}, "aide: step 1: shell_exec ls -l [2Jx"},
		{eventbus.ToolCallStart{ToolName: "read_file", Step: 1, Arguments: long}, "aide: step 1: read_file " + strings.Repeat("a/", 29) + "a…"},
		{eventbus.ToolApprovalRequired{ApprovalID: "apr_1", ToolName: "shell_exec", Arguments: `{"command":"rm x"}`}, "aide: waits for 'worker approvals approve apr_1': shell_exec rm x"},
		{eventbus.Error{Message: "no model"}, "aide: error: no model"},
		{eventbus.SessionEnd{Status: "completed"}, ""},
		{eventbus.SubagentEvent{AgentType: "explore", SessionID: "s", Event: encode(t, eventbus.StatusChange{Status: eventbus.StatusStreaming})}, "aide > explore: thinking"},
		{eventbus.SubagentEvent{AgentType: "explore", SessionID: "s", Event: encode(t, eventbus.ContentDelta{})}, ""},
		{eventbus.SubagentEvent{AgentType: "explore", SessionID: "s", Event: json.RawMessage(`{}`)}, ""},
	}
	for _, tt := range tests {
		got := describe("aide", tt.ev)
		if got != tt.want {
			t.Errorf("describe(%#v) = %q, want %q", tt.ev, got, tt.want)
		}
		if utf8.RuneCountInString(got) > maxMessage {
			t.Errorf("describe(%#v) has more than %d characters", tt.ev, maxMessage)
		}
	}
}

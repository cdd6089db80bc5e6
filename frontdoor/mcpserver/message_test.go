package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/taskt"
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

// TestTracker: what a child does reaches the call that made it, whatever runs
// beside it, and calls that have ended are forgotten.
func TestTracker(t *testing.T) {
	var tr tracker
	a := tr.add(taskt.Input{Prompt: "a", AgentType: "x"})
	b1 := tr.add(taskt.Input{Prompt: "b", AgentType: "x"})
	b2 := tr.add(taskt.Input{Prompt: "b", AgentType: "x"})
	start := func(id string, c *call) {
		tr.event(encode(t, eventbus.ToolCallStart{ToolCallID: "call-" + id, ToolName: "task", Arguments: c.args, MessageID: "msg-" + id}))
	}
	child := func(session string, ev eventbus.Event) {
		tr.event(encode(t, eventbus.SubagentEvent{AgentType: "x", SessionID: session, Event: encode(t, ev)}))
	}
	thinking := eventbus.StatusChange{Status: eventbus.StatusStreaming}
	start("1", b1)
	start("2", b2)
	child("ses-b2", eventbus.SessionStart{SessionID: "ses-b2", ParentMessageID: "msg-2"})
	child("ses-b2", thinking)
	child("ses-b1", thinking) // not announced: nobody's
	start("3", a)
	child("ses-a", eventbus.SessionStart{SessionID: "ses-a", ParentMessageID: "msg-3"})
	for range maxMessages + 5 { // more than a call holds
		child("ses-a", thinking)
	}
	tr.event(json.RawMessage(`rubbish`))
	child("ses-a", eventbus.Unknown{TypeName: "new", Raw: json.RawMessage(`{"type":"new"}`)})
	for name, want := range map[*call]int{a: maxMessages, b1: 0, b2: 1} {
		if got := len(name.messages); got != want {
			t.Errorf("%s: %d messages, want %d", name.toolCallID, got, want)
		}
	}
	for _, id := range []string{"1", "2", "3"} {
		tr.event(encode(t, eventbus.ToolCallEnd{ToolCallID: "call-" + id}))
	}
	if len(tr.calls) != 0 {
		t.Errorf("%d calls are left", len(tr.calls))
	}
}

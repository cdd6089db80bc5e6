package event_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
)

func TestEncode(t *testing.T) {
	tests := []struct {
		event event.Event
		want  string
	}{
		{
			event.SessionStart{SessionID: "s1", AgentType: "explore", ParentID: "s0", ParentMessageID: "m", Description: "look", Model: "offline", Depth: 1},
			`{"type":"session_start","sessionId":"s1","agentType":"explore","parentId":"s0","parentMessageId":"m","description":"look","model":"offline","depth":1}`,
		},
		{event.StatusChange{Status: event.StatusStreaming}, `{"type":"status_change","status":"streaming"}`},
		{event.ContentDelta{MessageID: "m", Delta: "<a> & \"b\"\n", Offset: 3}, `{"type":"content_delta","messageId":"m","delta":"<a> & \"b\"\n","offset":3}`},
		{event.ReasoningDelta{MessageID: "m", Delta: "hm", Offset: 0}, `{"type":"reasoning_delta","messageId":"m","delta":"hm","offset":0}`},
		{
			event.ToolCallStart{ToolCallID: "c", ToolName: "grep", Arguments: `{"pattern":"x"}`, MessageID: "m", Step: 2},
			`{"type":"tool_call_start","toolCallId":"c","toolName":"grep","arguments":"{\"pattern\":\"x\"}","messageId":"m","step":2}`,
		},
		{
			event.ToolCallEnd{ToolCallID: "c", ToolName: "grep", Result: "a:1: x", Truncated: true, DurationMs: 7},
			`{"type":"tool_call_end","toolCallId":"c","toolName":"grep","result":"a:1: x","isError":false,"truncated":true,"durationMs":7}`,
		},
		{
			event.ToolApprovalRequired{ApprovalID: "a", ToolCallID: "c", ToolName: "shell_exec", Arguments: "{}", SessionID: "s", Patterns: []string{"ls"}, AlwaysPatterns: []string{"ls *"}, Question: event.Question{Title: "run a command", Parts: []event.QuestionPart{{Name: "command", Form: "command", Text: "ls"}}}},
			`{"type":"tool_approval_required","approvalId":"a","toolCallId":"c","toolName":"shell_exec","arguments":"{}","sessionId":"s","patterns":["ls"],"alwaysPatterns":["ls *"],"question":{"title":"run a command","parts":[{"name":"command","form":"command","text":"ls"}]}}`,
		},
		{event.ToolApprovalResolved{ApprovalID: "a", Outcome: event.Expired}, `{"type":"tool_approval_resolved","approvalId":"a","outcome":"expired"}`},
		{event.Usage{InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3}, `{"type":"usage","inputTokens":1,"outputTokens":2,"cacheReadTokens":3}`},
		{event.ContextCompacted{Summary: "s"}, `{"type":"context_compacted","summary":"s"}`},
		{event.TurnComplete{Message: event.TurnMessage{ID: "m", Text: "t"}}, `{"type":"turn_complete","message":{"id":"m","text":"t"}}`},
		{event.Error{Code: "failed", Message: "m"}, `{"type":"error","code":"failed","message":"m"}`},
		{event.SessionEnd{Status: "completed"}, `{"type":"session_end","status":"completed"}`},
		{
			event.SubagentEvent{AgentType: "e", SessionID: "s", Event: json.RawMessage(`{"type":"session_end","status":"failed"}`)},
			`{"type":"subagent_event","agentType":"e","sessionId":"s","event":{"type":"session_end","status":"failed"}}`,
		},
		{
			event.AgentsChanged{
				Version: 2, Agents: []string{"a"}, Added: []string{}, Changed: []string{"a"}, Removed: []string{"b"},
				Diagnostics: []json.RawMessage{}, Fingerprint: "f",
			},
			`{"type":"agents_changed","version":2,"agents":["a"],"added":[],"changed":["a"],"removed":["b"],"diagnostics":[],"fingerprint":"f"}`,
		},
		{
			event.Unknown{TypeName: "from_the_future", Raw: json.RawMessage(`{"type":"from_the_future","x":1}`)},
			`{"type":"from_the_future","x":1}`,
		},
	}
	for _, tt := range tests {
		got, err := event.Encode(tt.event)
		if err != nil || string(got) != tt.want {
			t.Errorf("Encode(%#v) = %s, %v, want %s", tt.event, got, err, tt.want)
			continue
		}
		back, err := event.Decode(got)
		if err != nil || !reflect.DeepEqual(back, tt.event) {
			t.Errorf("Decode(%s) = %#v, %v, want %#v", got, back, err, tt.event)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, input := range []string{``, `null`, `[]`, `{}`, `{"type":""}`, `{"type":7}`, `{"type":"content_delta","offset":"x"}`, `{"type":"usage"`} {
		if ev, err := event.Decode([]byte(input)); err == nil {
			t.Errorf("Decode(%q) = %#v, want an error", input, ev)
		}
	}
}

// FuzzDecode: no input panics, and what is decoded can be encoded and decoded
// to the same again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"type":"content_delta","delta":"x","offset":1}`))
	f.Add([]byte(`{"type":"subagent_event","agentType":"a","sessionId":"s","event":{"type":"usage"}}`))
	f.Add([]byte(`{"type":"new","x":[1,2]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		ev, err := event.Decode(data)
		if err != nil {
			return
		}
		once, err := event.Encode(ev)
		if err != nil {
			t.Fatalf("Encode(%#v), read from %q: %v", ev, data, err)
		}
		again, err := event.Decode(once)
		if err != nil {
			t.Fatalf("Decode(%s), written from %q: %v", once, data, err)
		}
		twice, err := event.Encode(again)
		if err != nil || string(twice) != string(once) {
			t.Fatalf("Encode(Decode(%s)) = %s, %v", once, twice, err)
		}
	})
}

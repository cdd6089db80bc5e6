package event_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus/event"
)

func TestSummary(t *testing.T) {
	tests := []struct{ tool, arguments, want string }{
		{"grep", `{"pattern":"a b","path":"src","limit":3}`, "grep a b src"},
		{"task", `{"prompt":"long","description":"look","agentType":"explore"}`, "task explore look"},
		{"shell_exec", `{"command":"printf '\u001b[2J'\nls"}`, "shell_exec printf '[2J' ls"},
		{"x", `{"path":7}`, "x"},
		{"x\x1b", `not json`, "x"},
	}
	for _, tt := range tests {
		if got := (event.ToolCallStart{ToolName: tt.tool, Arguments: tt.arguments}).Summary(); got != tt.want {
			t.Errorf("summary of %s %s: %q, want %q", tt.tool, tt.arguments, got, tt.want)
		}
	}
	if got := (event.ToolApprovalRequired{Question: event.Question{Title: "change a\x1b.md"}}).Summary(); got != `change a\u{1b}.md` {
		t.Errorf("summary of an approval: %q", got)
	}
}

func TestRetrySummary(t *testing.T) {
	limited := event.Retry{Reason: "rate_limited", Try: 2, Tries: 3, DelayMs: 45_000}
	for age, want := range map[time.Duration]string{
		0:                       "rate limited, next try in 45 s, 2 of 3",
		1500 * time.Millisecond: "rate limited, next try in 44 s, 2 of 3",
		45 * time.Second:        "rate limited, try 2 of 3",
	} {
		if got := limited.SummaryAfter(age); got != want {
			t.Errorf("after %s: %q, want %q", age, got, want)
		}
	}
	if got, want := (event.Retry{Reason: "unavailable", Try: 3, Tries: 3}).SummaryAfter(0), "no answer, try 3 of 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAgentsChangedSummary(t *testing.T) {
	many := make([]string, 1000)
	for i := range many {
		many[i] = "reviewer"
	}
	for _, tt := range []struct {
		event event.AgentsChanged
		want  string
	}{
		{
			event.AgentsChanged{
				Version: 4, Agents: make([]string, 12), Added: []string{"a"}, Changed: []string{"b"}, Removed: []string{"c", "d\x1b[2J"},
				Diagnostics: []json.RawMessage{[]byte(`{"severity":"error"}`), []byte(`{"severity":"warning"}`), []byte(`?`)},
			},
			"agents changed: +a ~b -c -d[2J (version 4, 12 agents, 1 error)",
		},
		{event.AgentsChanged{Version: 1, Agents: []string{"a"}}, "agents changed: (version 1, 1 agent)"},
	} {
		if got := tt.event.Summary(); got != tt.want {
			t.Errorf("Summary of %+v = %q, want %q", tt.event, got, tt.want)
		}
	}
	if got := (event.AgentsChanged{Added: many, Removed: many}).Summary(); len(got) > 500 || !strings.Contains(got, "…") {
		t.Errorf("Summary of many: %d bytes: %s", len(got), got)
	}
}

package eventbus_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agentworker/worker/eventbus"
)

func TestOneLine(t *testing.T) {
	tests := []struct {
		in    string
		limit int
		want  string
	}{
		{"plain", 10, "plain"},
		{"two\nlines\there", 20, "two lines here"},
		{"red \x1b[31mtext\x1b[0m", 30, "red [31mtext[0m"},
		{"c1 \u009b31m bell\a back\b\r", 30, "c1 31m bell back"},
		{"abc\u202edef\u2066\u200f", 10, "abcdef"},
		{"grüße an alle", 6, "grüße…"},
		{"bad \xff utf8", 20, "bad \ufffd utf8"},
		{"", 5, ""},
	}
	for _, tt := range tests {
		if got := eventbus.OneLine(tt.in, tt.limit); got != tt.want {
			t.Errorf("OneLine(%q, %d) = %q, want %q", tt.in, tt.limit, got, tt.want)
		}
	}
}

func TestSummary(t *testing.T) {
	tests := []struct{ tool, arguments, want string }{
		{"grep", `{"pattern":"a b","path":"src","limit":3}`, "grep a b src"},
		{"task", `{"prompt":"long","description":"look","agentType":"explore"}`, "task explore look"},
		{"shell_exec", `{"command":"printf '\u001b[2J'\nls"}`, "shell_exec printf '[2J' ls"},
		{"x", `{"path":7}`, "x"},
		{"x\x1b", `not json`, "x"},
	}
	for _, tt := range tests {
		if got := (eventbus.ToolCallStart{ToolName: tt.tool, Arguments: tt.arguments}).Summary(); got != tt.want {
			t.Errorf("summary of %s %s: %q, want %q", tt.tool, tt.arguments, got, tt.want)
		}
		if got := (eventbus.ToolApprovalRequired{ToolName: tt.tool, Arguments: tt.arguments}).Summary(); got != tt.want {
			t.Errorf("summary of the approval of %s %s: %q, want %q", tt.tool, tt.arguments, got, tt.want)
		}
	}
}

func TestRetrySummary(t *testing.T) {
	limited := eventbus.Retry{Reason: "rate_limited", Try: 2, Tries: 3, DelayMs: 45_000}
	for age, want := range map[time.Duration]string{
		0:                       "rate limited, next try in 45 s, 2 of 3",
		1500 * time.Millisecond: "rate limited, next try in 44 s, 2 of 3",
		45 * time.Second:        "rate limited, try 2 of 3",
	} {
		if got := limited.SummaryAfter(age); got != want {
			t.Errorf("after %s: %q, want %q", age, got, want)
		}
	}
	if got, want := (eventbus.Retry{Reason: "unavailable", Try: 3, Tries: 3}).SummaryAfter(0), "no answer, try 3 of 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzOneLine(f *testing.F) {
	f.Add("a\x1b[0m\u202e", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 1 {
			return
		}
		got := eventbus.OneLine(s, limit)
		if strings.ContainsAny(got, "\x1b\n\r\u202e") || utf8.RuneCountInString(got) > limit {
			t.Errorf("OneLine(%q, %d) = %q", s, limit, got)
		}
	})
}

func TestAgentsChangedSummary(t *testing.T) {
	many := make([]string, 1000)
	for i := range many {
		many[i] = "reviewer"
	}
	for _, tt := range []struct {
		event eventbus.AgentsChanged
		want  string
	}{
		{
			eventbus.AgentsChanged{
				Version: 4, Agents: make([]string, 12), Added: []string{"a"}, Changed: []string{"b"}, Removed: []string{"c", "d\x1b[2J"},
				Diagnostics: []json.RawMessage{[]byte(`{"severity":"error"}`), []byte(`{"severity":"warning"}`), []byte(`?`)},
			},
			"agents changed: +a ~b -c -d[2J (version 4, 12 agents, 1 error)",
		},
		{eventbus.AgentsChanged{Version: 1, Agents: []string{"a"}}, "agents changed: (version 1, 1 agent)"},
	} {
		if got := tt.event.Summary(); got != tt.want {
			t.Errorf("Summary of %+v = %q, want %q", tt.event, got, tt.want)
		}
	}
	if got := (eventbus.AgentsChanged{Added: many, Removed: many}).Summary(); len(got) > 500 || !strings.Contains(got, "…") {
		t.Errorf("Summary of many: %d bytes: %s", len(got), got)
	}
}

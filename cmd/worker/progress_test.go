package main

import (
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// play shows events to a progress, each so many seconds after the start.
type play struct {
	t     *testing.T
	p     *progress
	start time.Time
	seq   uint64
}

func (p *play) at(seconds float64, ev event.Event) {
	p.t.Helper()
	inner, err := event.Encode(ev)
	if err != nil {
		p.t.Fatal(err)
	}
	raw, err := event.Encode(event.SubagentEvent{AgentType: "explore", SessionID: "ses_1", Event: inner})
	if err != nil {
		p.t.Fatal(err)
	}
	now := p.start.Add(time.Duration(seconds * float64(time.Second)))
	p.seq++
	p.p.show(eventbus.Delivery{Seq: p.seq, Time: now, Raw: raw}, now)
	p.p.tick(now)
}

func (p *play) tick(seconds float64) {
	p.p.tick(p.start.Add(time.Duration(seconds * float64(time.Second))))
}

// TestLiveLine: what is on the line at each moment, at 60 columns.
func TestLiveLine(t *testing.T) {
	var out strings.Builder
	live := &screen{out: &out, redraws: true, columns: func() int { return 60 }}
	p := &play{t: t, p: newProgress(live, live), start: time.Unix(1000, 0)}
	shows := func(want string) {
		t.Helper()
		if live.live != want || cells(live.live) > 59 {
			t.Errorf("the line is %q, want %q", live.live, want)
		}
	}
	p.at(0, event.SessionStart{AgentType: "explore", Model: "openai/m", SessionID: "ses_1"})
	p.at(0, event.StatusChange{Status: event.StatusStreaming})
	p.tick(7)
	shows("[   7.00s] explore  openai/m  7 s")
	p.at(8, event.StatusChange{Status: event.StatusStreaming, Retry: &event.Retry{Reason: "rate_limited", Try: 2, Tries: 3, DelayMs: 45_000}})
	p.tick(10)
	shows("[  10.00s] explore  10 s  rate limited, next try in 43 s, …")
	p.at(54, event.ContentDelta{Delta: "The configuration is loaded in 日本語 by main.go, line 12"})
	if !strings.HasPrefix(live.live, "[  54.00s] explore  openai/m  54 s  …") || !strings.HasSuffix(live.live, "main.go, line 12") || cells(live.live) > 59 {
		t.Errorf("the line does not end in the text: %q", live.live)
	}
	p.at(55, event.StatusChange{Status: event.StatusExecutingTool})
	p.at(55, event.ToolCallStart{ToolCallID: "1", ToolName: "grep", Arguments: `{"pattern":"x"}`, Step: 1})
	p.tick(58)
	shows("[  58.00s] explore  step 1  grep x  3 s")
	p.at(59, event.ToolCallEnd{ToolCallID: "1", ToolName: "grep", Result: "a"})
	shows("")
	p.at(60, event.SessionEnd{Status: "completed"})

	// The line was taken away before each line that stays: what stays is whole.
	for line := range strings.SplitSeq(strings.TrimSuffix(out.String(), "\n"), "\n") {
		if i := strings.LastIndex(line, clearLine); i >= 0 {
			line = line[i+len(clearLine):]
		}
		if strings.Count(line, "[") != 1 || !strings.HasPrefix(line, "[") {
			t.Errorf("a line that stays is %q", line)
		}
	}
}

// TestQuiet: without a terminal a line says every 10 s what goes on.
func TestQuiet(t *testing.T) {
	var out strings.Builder
	p := &play{t: t, p: newProgress(&out, nil), start: time.Unix(1000, 0)}
	p.at(0, event.SessionStart{AgentType: "explore", Model: "openai/m", SessionID: "ses_1"})
	p.at(0, event.StatusChange{Status: event.StatusStreaming})
	for s := range 26 {
		p.tick(float64(s))
	}
	p.at(26, event.ContentDelta{Delta: "abc"})
	p.tick(31)
	want := "[   0.00s] explore  started as ses_1 on openai/m\n" +
		"[  10.00s] explore  openai/m  10 s\n" +
		"[  20.00s] explore  openai/m  20 s\n" +
		"[  31.00s] explore  openai/m  31 s, 3 characters so far\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestCells(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "grüße": 5, "日本": 4, "🎉": 2, "e\u0301": 1} {
		if got := cells(text); got != want {
			t.Errorf("cells(%q) = %d, want %d", text, got, want)
		}
	}
	for _, limit := range []int{1, 2, 3, 7, 20} {
		text := "日本語 and a_very_long_word_that_no_line_holds grüße 🎉"
		for _, line := range append(wrap(text, max(limit, 2)), fit(text, limit), fitEnd(text, limit)) {
			if cells(line) > max(limit, 2) {
				t.Errorf("limit %d: %q takes %d columns", limit, line, cells(line))
			}
		}
		whole := strings.NewReplacer(" ", "").Replace
		if got := whole(strings.Join(wrap(text, max(limit, 2)), "")); got != whole(text) {
			t.Errorf("limit %d: wrapped it is %q", limit, got)
		}
	}
}

// TestTable: at whatever width a row fits, and nothing of what is shown is cut.
func TestTable(t *testing.T) {
	for _, columns := range []int{40, 60, 80, 200} {
		var out, errs strings.Builder
		p := &program{stdout: &out, stderr: &errs, outTerm: terminal{columns: func() int { return columns }}}
		tab := &table{header: []string{"NAME", "MODE", "SOURCE", "STATE", "DESCRIPTION"}, drop: []string{"MODE", "SOURCE"}}
		tab.add("reviewer", "subagent", ".agents/agents/reviewer.md", "ok", "Reviews the changes of a branch and says what is wrong with them.")
		if err := p.printTable(tab, false); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(out.String(), "\n") {
			if cells(line) > columns {
				t.Errorf("at %d columns: %q takes %d", columns, line, cells(line))
			}
		}
		if strings.Contains(out.String(), "…") || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), "with them.") {
			t.Errorf("at %d columns:\n%s", columns, out.String())
		}
		if left := strings.Contains(errs.String(), "--wide"); left != (columns < 80) {
			t.Errorf("at %d columns it says %q", columns, errs.String())
		}
	}
}

package progress_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/cmd/worker/internal/progress"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// clearLine takes the live line away.
const clearLine = "\r\x1b[K"

// play shows events to a progress, each so many seconds after the start.
type play struct {
	t     *testing.T
	p     *progress.Progress
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
	p.p.Show(eventbus.Delivery{Seq: p.seq, Time: now, Raw: raw}, now)
	p.p.Tick(now)
}

func (p *play) tick(seconds float64) {
	p.p.Tick(p.start.Add(time.Duration(seconds * float64(time.Second))))
}

// TestLiveLine: what is on the line at each moment, at 60 columns.
func TestLiveLine(t *testing.T) {
	var out strings.Builder
	live := terminal.NewScreen(&out, terminal.Output{Redraws: true, Columns: func() int { return 60 }})
	p := &play{t: t, p: progress.New(live, terminal.Output{}, live), start: time.Unix(1000, 0)}
	line := func() string { // what stands there, without an end
		text := out.String()
		text = text[strings.LastIndex(text, "\n")+1:]
		if i := strings.LastIndex(text, clearLine); i >= 0 {
			text = text[i+len(clearLine):]
		}
		return text
	}
	shows := func(want string) {
		t.Helper()
		if got := line(); got != want || terminal.Cells(got) > 59 {
			t.Errorf("the line is %q, want %q", got, want)
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
	if got := line(); !strings.HasPrefix(got, "[  54.00s] explore  openai/m  54 s  …") || !strings.HasSuffix(got, "main.go, line 12") || terminal.Cells(got) > 59 {
		t.Errorf("the line does not end in the text: %q", got)
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
	p := &play{t: t, p: progress.New(&out, terminal.Output{}, nil), start: time.Unix(1000, 0)}
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

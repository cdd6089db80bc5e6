package progress_test

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinshun/vt10x"

	"github.com/agentworker/worker/cmd/worker/internal/progress"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// play shows events to a progress, each so many seconds after the start.
type play struct {
	t     *testing.T
	p     *progress.Progress
	start time.Time
	seq   uint64
	in    []string // the sessions around what is told; nil means ses_1
}

func (p *play) at(seconds float64, ev event.Event) {
	p.t.Helper()
	inner, err := event.Encode(ev)
	if err != nil {
		p.t.Fatal(err)
	}
	around := p.in
	if around == nil {
		around = []string{"ses_1"}
	}
	raw := inner
	for _, id := range slices.Backward(around) {
		if raw, err = event.Encode(event.SubagentEvent{AgentType: "explore", SessionID: id, Event: raw}); err != nil {
			p.t.Fatal(err)
		}
	}
	now := p.start.Add(time.Duration(seconds * float64(time.Second)))
	p.seq++
	p.p.Show(eventbus.Delivery{Seq: p.seq, Time: now, Raw: raw}, now)
	p.p.Tick(now)
}

func (p *play) tick(seconds float64) {
	p.p.Tick(p.start.Add(time.Duration(seconds * float64(time.Second))))
}

// onScreen is a progress on a terminal, and what the terminal shows, without blanks at
// the ends of lines.
func onScreen(t *testing.T, columns, rows int) (p *play, shown func() string) {
	term := vt10x.New(vt10x.WithSize(columns, rows))
	live := terminal.NewScreen(term, terminal.Output{
		Redraws: true, Columns: func() int { return columns }, Rows: func() int { return rows },
	})
	lines := crlf{live}
	return &play{t: t, p: progress.New(lines, terminal.Output{}, live), start: time.Unix(1000, 0)}, func() string {
		var b strings.Builder
		for line := range strings.SplitSeq(term.String(), "\n") {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
		return strings.TrimRight(b.String(), "\n")
	}
}

// crlf ends lines as a terminal wants it; the system does that for programs.
type crlf struct{ io.Writer }

func (w crlf) Write(p []byte) (int, error) {
	_, err := w.Writer.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n")))
	return len(p), err
}

// spinner is the first of a live line.
const spinner = "[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] "

// TestLiveLine: what is said of one agent at each moment, at 60 columns.
func TestLiveLine(t *testing.T) {
	p, shown := onScreen(t, 60, 12)
	shows := func(want string) {
		t.Helper()
		lines := strings.Split(shown(), "\n")
		if got := lines[len(lines)-1]; !regexp.MustCompile(want + "$").MatchString(got) {
			t.Errorf("the last line is %q, want %s", got, want)
		}
	}
	p.at(0, event.SessionStart{AgentType: "explore", Model: "openai/m", SessionID: "ses_1"})
	p.at(0, event.StatusChange{Status: event.StatusStreaming})
	p.tick(7)
	shows("^" + spinner + "7s  explore  openai/m  7s")
	p.at(8, event.StatusChange{Status: event.StatusStreaming, Retry: &event.Retry{Reason: "rate_limited", Try: 2, Tries: 3, DelayMs: 45_000}})
	p.tick(10)
	shows("^" + spinner + "10s  explore  10s  rate limited, next try in 43 s, 2 of 3")
	p.at(54, event.ContentDelta{Delta: "The configuration is loaded in 日本語 by main.go, line 12"})
	shows("^" + spinner + "54s  explore  openai/m  54s  ….*main.go, line 12")
	p.at(55, event.Usage{InputTokens: 12_000, OutputTokens: 345})
	p.at(55, event.StatusChange{Status: event.StatusExecutingTool})
	p.at(55, event.ToolCallStart{ToolCallID: "1", ToolName: "grep", Arguments: `{"pattern":"x"}`, Step: 1})
	p.tick(58)
	shows("^" + spinner + "58s  explore  step 1  grep x  3s  12.3k tokens")
	p.at(59, event.ToolCallEnd{ToolCallID: "1", ToolName: "grep", Result: "a"})
	p.at(60, event.SessionEnd{Status: "completed"})
	if got, want := shown(), "[   0.00s] explore  started as ses_1 on openai/m\n"+
		"[   8.00s] explore  rate limited, next try in 45 s, 2 of 3\n"+
		"[  59.00s] explore  step 1  grep x  ok, 1 line  0ms\n"+
		"[  60.00s] explore  completed"; got != want {
		t.Errorf("what stays is\n%s\nwant\n%s", got, want)
	}
}

// TestLiveLines: agents that work side by side have a line each, within the terminal,
// and what they say moves no cursor.
func TestLiveLines(t *testing.T) {
	p, shown := onScreen(t, 72, 7)
	hostile := "\x1b[2J\u009b2Jclear\u202e\r日本語"
	for i, agent := range []string{"explore", "general", "deep", "late"} {
		p.in = []string{"ses_" + agent}
		if agent == "deep" {
			p.in = []string{"ses_general", "ses_deep"}
		}
		p.at(float64(i), event.SessionStart{AgentType: agent, Model: "openai/m", Description: "look at " + hostile})
		p.at(float64(i), event.StatusChange{Status: event.StatusStreaming})
		p.at(float64(i), event.Usage{InputTokens: int64(1000 * (i + 1))})
	}
	p.at(4, event.ToolCallStart{ToolCallID: "1", ToolName: "shell_exec", Arguments: `{"command":"echo \u001b]8;;http://x\u0007 \u202e"}`, Step: 1})
	p.tick(64)
	want := `(?s)` + spinner + `1m  4 agents at work  10.0k tokens
  explore  look at \[2J2Jcle…  openai/m  1m                  1000 tokens
  general  look at \[2J2Jcle…  openai/m  1m                  2000 tokens
    deep  look at \[2J2Jclea…  openai/m  1m                  3000 tokens
  late  look at \[2J2Jclear…   step 1  shell_exec echo \]8;…  4000 tokens$`
	if got := shown(); !regexp.MustCompile(want).MatchString(got) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for i := range 4 { // more than there is room for
		p.in = []string{fmt.Sprintf("ses_%d", i)}
		p.at(70, event.SessionStart{AgentType: "more", Model: "openai/m"})
		p.at(70, event.StatusChange{Status: event.StatusStreaming})
	}
	p.tick(70)
	if got := shown(); !strings.HasSuffix(got, "\n  … 4 more") || strings.Count(got, "\n") != 6 || !strings.Contains(got, "8 agents at work") {
		t.Errorf("got\n%s", got)
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
		"[  10.00s] explore  openai/m  10s\n" +
		"[  20.00s] explore  openai/m  20s\n" +
		"[  31.00s] explore  openai/m  31s, 3 characters so far\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

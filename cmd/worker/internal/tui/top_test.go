package tui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/live"
	"github.com/agentworker/worker/session/record"
)

// topActions notes the actions that are asked for.
type topActions struct{ calls []string }

func (a *topActions) note(format string, args ...any) (string, error) {
	a.calls = append(a.calls, fmt.Sprintf(format, args...))
	return "done", nil
}
func (a *topActions) Log(_ context.Context, id string) (string, error) {
	return "log of " + id + "\n" + strings.Repeat("line\n", 50), nil
}
func (a *topActions) Send(_ context.Context, id, text string) (string, error) {
	return a.note("send %s %s", id, text)
}
func (a *topActions) Stop(_ context.Context, id string) (string, error) { return a.note("stop %s", id) }
func (a *topActions) StopCommand(_ context.Context, id, command string) (string, error) {
	return a.note("stop %s of %s", command, id)
}
func (a *topActions) MoveCommand(_ context.Context, id string) (string, error) {
	return a.note("move command of %s", id)
}
func (a *topActions) Background(_ context.Context, id string) (string, error) {
	return a.note("background %s", id)
}
func (a *topActions) Answer(_ context.Context, id string, answer approval.Answer) (string, error) {
	return a.note("answer %s %d %s", id, answer.Verdict, answer.Feedback)
}

// topUser is somebody who looks at the screen and types.
type topUser struct {
	t *testing.T
	m *Top
	*topActions
}

func openTop(t *testing.T, width, height int) *topUser {
	actions := new(topActions)
	u := &topUser{t, NewTop(t.Context(), "shop-1a2b3c4d", actions, terminal.Output{}, func() time.Time { return now }), actions}
	u.update(tea.WindowSizeMsg{Width: width, Height: height})
	return u
}

// update passes on a message, and what follows from it except for ticks.
func (u *topUser) update(msg tea.Msg) {
	_, cmd := u.m.Update(msg)
	if cmd == nil {
		return
	}
	switch next := cmd().(type) {
	case outcome, fetched:
		u.update(next)
	}
}

func (u *topUser) press(keys ...string) { press(u.update, keys) }

// screen is what is shown, without blanks at the ends of lines.
func (u *topUser) screen() string {
	var lines []string
	for line := range strings.SplitSeq(u.m.View().Content, "\n") {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Join(lines, "\n")
}

func (u *topUser) sees(want string) {
	u.t.Helper()
	if got := u.screen(); !strings.Contains(got, want) {
		u.t.Errorf("the screen lacks %q:\n%s", want, got)
	}
}

// record is a session that runs.
func recordOf(id, parent, agent, label string, ago time.Duration) *record.Record {
	r := &record.Record{
		ID: id, ParentID: parent, Agent: agent, Label: label, Model: "anthropic/claude-sonnet-4-5", Status: record.Running, Steps: 3,
		Usage:     model.Usage{InputTokens: 12_345, OutputTokens: 678, Cost: "0.0123"},
		CreatedAt: now.Add(-ago), StartedAt: now.Add(-ago), Path: event.Path{{SessionID: id}}, BootID: "boot_1",
	}
	if parent != "" {
		r.Path = event.Path{{SessionID: parent}, {SessionID: id}}
	}
	return r
}

func shop() Listed {
	ended := recordOf("ses_old", "", "", "worker task explore", time.Hour)
	ended.Status, ended.EndedAt = record.Completed, now.Add(-50*time.Minute)
	asks := recordOf("ses_asks", "ses_root", "general", "clean the build", time.Minute)
	asks.Status = record.WaitingApproval
	return Listed{
		Records: []*record.Record{
			recordOf("ses_new", "", "build", "the newest", time.Second),
			recordOf("ses_root", "", "lead", "ship the release", 2*time.Minute),
			recordOf("ses_look", "ses_root", "explore", "read the docs", time.Minute), asks, ended,
		},
		Facts: []live.Event{
			{Path: event.Path{{SessionID: "ses_root"}, {SessionID: "ses_look"}}, Event: event.ToolCallStart{ToolCallID: "c", ToolName: "read_file", Arguments: `{"path":"docs/guide/agents.md"}`}, Time: now.Add(-7 * time.Second)},
		},
		Pending: []*approval.Approval{{
			ID: "apr_1", SessionID: "ses_asks", Agent: "general", Tool: "shell_exec", Arguments: "{\"command\":\"rm -rf build\u202e\"}",
			Patterns: []string{"rm -rf build\u202e"}, AlwaysPatterns: []string{"rm *"}, Reason: "the rules ask",
			Question: event.Question{Title: "run a command", Parts: []event.QuestionPart{{Name: "command", Form: "command", Text: "rm -rf build\u202e"}}},
		}},
	}
}

const at80 = `worker top  shop-1a2b3c4d                                        1 of 4 need you
  AGENT                 STATUS       MODEL         DOING           AGE      COST
>·lead  ship the rele…  running      claude-sonn…                    -   $0.0123
 !├ general  clean th…  approval     claude-sonn…  run rm -rf b…     -   $0.0123
  └ explore  read the…  running      claude-sonn…  read_file do…    7s   $0.0123
  build  the newest     running      claude-sonn…                    -   $0.0123
  caller  worker task…  completed    claude-sonn…                  50m   $0.0123



ses_root  $0.0123, $0.0369 with subagents  12.3k in 678 out  3 steps  2m
anthropic/claude-sonnet-4-5  lead  ship the release
enter log  s send  x stop  v question  n next  ? help  q quit`

const at50 = `worker top  shop-1a2b3c4d          1 of 4 need you
  AGENT                 STATUS       DOING
>·lead  ship the rele…  running
 !├ general  clean th…  approval     run rm -rf b…
  └ explore  read the…  running      read_file do…
  build  the newest     running
  caller  worker task…  completed


ses_root  $0.0123, $0.0369 with subagents
anthropic/claude-sonnet-4-5  lead  ship the relea…
enter log  x stop  v question  ? help  q quit`

func TestViews(t *testing.T) {
	for _, tt := range []struct {
		width, height int
		want          string
	}{{80, 13, at80}, {50, 12, at50}} {
		u := openTop(t, tt.width, tt.height)
		u.update(shop())
		if got := u.screen(); got != tt.want {
			t.Errorf("at %d columns:\n%s\nwant\n%s", tt.width, got, tt.want)
		}
	}
}

// TestTopFits: at any size no line is too long, there are not too many, and no text of a
// model moves the cursor.
func TestTopFits(t *testing.T) {
	evil := shop()
	for _, r := range evil.Records {
		r.Label, r.Agent = "\x1b[2J\x1b]0;x\a\u202eevil\n日本語日本語日本語 \u009b31m", "a\x1b[1;1H\tgent 日本"
	}
	evil.Pending[0].Agent, evil.Pending[0].Reason = "\x1b[2J", "because\x1b[2J\nof \u200b it"
	for _, keys := range [][]string{nil, {"?"}, {"enter"}, {"s", "some text\x1b"}, {"x"}, {"v"}, {"n", "v", "n", "why 日本語日本語日本語日本語日本語日本語日本語"}, {"e"}, {"n", "n"}} {
		for _, size := range [][2]int{{8, 3}, {20, 6}, {33, 9}, {50, 15}, {80, 24}, {133, 40}} {
			u := openTop(t, size[0], size[1])
			u.update(evil)
			u.press(keys...)
			lines := strings.Split(u.m.View().Content, "\n")
			if len(lines) > size[1] {
				t.Errorf("%v at %v: %d lines:\n%s", keys, size, len(lines), u.screen())
			}
			for _, line := range lines {
				if n := terminal.Cells(line); n > size[0] {
					t.Errorf("%v at %v: %d columns: %q", keys, size, n, line)
				}
				if i := strings.IndexFunc(line, func(r rune) bool { return unicode.IsControl(r) || r == '\u202e' }); i >= 0 {
					t.Errorf("%v at %v: %q", keys, size, line)
				}
			}
		}
	}
}

// TestKeys: what keys show and do.
func TestKeys(t *testing.T) {
	for _, tt := range []struct {
		keys []string
		see  string
		do   string
	}{
		{[]string{"j"}, ">!├ general", ""},
		{[]string{"G"}, "> caller", ""},
		{[]string{"down", "down", "up"}, ">!├ general", ""},
		{[]string{"n"}, ">!├ general", ""},
		{[]string{"?"}, "up, k, down, j", ""},
		{[]string{"?", "q"}, ">·lead", ""},
		{[]string{"enter"}, "line\nesc back", ""},
		{[]string{"enter", "g"}, "log of ses_root", ""},
		{[]string{"enter", "esc"}, ">·lead", ""},
		{[]string{"s", "be quick", "enter"}, "done", "send ses_root be quick"},
		{[]string{"s", "be quick", "esc"}, ">·lead", ""},
		{[]string{"s", "  ", "enter"}, ">·lead", ""},
		{[]string{"G", "s"}, "a caller has no model", ""},
		{[]string{"x"}, "stop lead ses_root and all below it? y/n", ""},
		{[]string{"x", "y"}, "done", "stop ses_root"},
		{[]string{"x", "n"}, ">·lead", ""},
		{[]string{"x", "z"}, "y/n", ""},
		{[]string{"G", "x"}, "it has ended", ""},
		{[]string{"j", "b"}, "done", "background ses_asks"},
		{[]string{"b"}, "no call waits for it", ""},
		{[]string{"v"}, `rm -rf build\u{202e}`, ""}, // of the one below it
		{[]string{"v", "y"}, "done", "answer apr_1 1 "},
		{[]string{"v", "A"}, "done", "answer apr_1 2 "},
		{[]string{"v", "esc"}, ">!├ general", ""},
		{[]string{"v", "a", "enter"}, "approve?", ""}, // neither is an answer
		{[]string{"n", "v", "n", "not now", "enter"}, "done", "answer apr_1 0 not now"},
		{[]string{"G", "v"}, "no call of it waits", ""},
	} {
		u := openTop(t, 80, 24)
		u.update(shop())
		u.press(tt.keys...)
		u.sees(tt.see)
		if got := strings.Join(u.calls, ", "); got != tt.do {
			t.Errorf("%q does %q, want %q", tt.keys, got, tt.do)
		}
	}
}

// TestLongApproval: what is not read to its end is not approved, and what is cut is not
// approved for ever.
func TestLongApproval(t *testing.T) {
	u := openTop(t, 50, 12)
	l := shop()
	l.Pending[0].Question.Parts = []event.QuestionPart{{Name: "command", Form: "command", Text: strings.Repeat("echo x; ", 200)}}
	u.update(l)
	u.press("v", "y")
	u.sees("read all of it first")
	u.press("G", "y")
	l.Pending[0].Question.LeftOut = "The end is left out. "
	u.update(l)
	u.press("v", "G", "A")
	u.sees("approve? y this time  n no")
	if got := strings.Join(u.calls, ", "); got != "answer apr_1 1 " {
		t.Errorf("it does %q", got)
	}
}

// TestAnsweredElsewhere: a question that is over is taken away.
func TestAnsweredElsewhere(t *testing.T) {
	u := openTop(t, 80, 24)
	u.update(shop())
	u.press("v")
	u.update(Facts{{Path: event.Path{{SessionID: "ses_root"}, {SessionID: "ses_asks"}}, Event: event.ToolApprovalResolved{ApprovalID: "apr_1"}, Time: now}})
	u.sees("does not wait any more")
	u.press("y")
	if len(u.calls) > 0 {
		t.Errorf("it does %q", u.calls)
	}
}

// TestTrouble: it is said while the store does not answer, and no longer.
func TestTrouble(t *testing.T) {
	u := openTop(t, 80, 24)
	u.sees("reading…")
	u.update(shop())
	u.update(Trouble{errSlow})
	u.sees("trying again: the store does not answer")
	u.update(shop())
	u.sees("1 of 4 need you")
}

// TestStalled: a session without events needs somebody, by its event or its record, until
// it has another event.
func TestStalled(t *testing.T) {
	stalls := Facts{{Path: event.Path{{SessionID: "ses_root"}, {SessionID: "ses_look"}}, Event: event.Stalled{IdleMs: 300_000}, Time: now}}
	for name, update := range map[string]func(u *topUser){
		"event": func(u *topUser) { u.update(shop()); u.update(stalls) },
		"record": func(u *topUser) {
			l := shop()
			l.Records[2].Stalled, l.Facts = true, nil
			u.update(l)
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := openTop(t, 80, 24)
			update(u)
			u.sees("2 of 4 need you")
			u.press("n", "n")
			u.sees(">!└ explore  read the…  stalled")
			u.update(Facts{{Path: event.Path{{SessionID: "ses_root"}, {SessionID: "ses_look"}}, Event: event.ToolCallEnd{ToolCallID: "c"}, Time: now}})
			u.sees("1 of 4 need you")
		})
	}
}

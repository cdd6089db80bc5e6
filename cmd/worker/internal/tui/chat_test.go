package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/approval"
)

var now = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// chatAgent notes what the agent is asked to do.
type chatAgent struct {
	calls []string
	model string
}

func (a *chatAgent) note(format string, args ...any) {
	a.calls = append(a.calls, fmt.Sprintf(format, args...))
}

func (a *chatAgent) Prompt(ctx context.Context, text string) Answered {
	a.note("prompt %s", text)
	return Answered{}
}

func (a *chatAgent) Send(text string) error {
	a.note("send %s", text)
	return nil
}

func (a *chatAgent) Stop(_ context.Context, id string) (string, error) {
	a.note("stop %s", id)
	return id + " is cancelled", nil
}
func (a *chatAgent) MoveCommand(_ context.Context, id string) (string, error) {
	a.note("move command of %s", id)
	return "it goes on", nil
}
func (a *chatAgent) Model() string { return a.model }
func (a *chatAgent) SetModel(_ context.Context, name string) error {
	if name == "none" {
		return errors.New("no such model")
	}
	a.model = name
	return nil
}
func (a *chatAgent) Agents() []string { return []string{"explore  finds things"} }

// chatUser is somebody who looks at the screen and types.
type chatUser struct {
	t *testing.T
	m *Chat
	*chatAgent
	above   []string // what was printed above the screen
	stopped bool     // the turn
	quit    bool
}

func openChat(t *testing.T, width, height int) *chatUser {
	agent := &chatAgent{model: "m1"}
	u := &chatUser{t: t, m: NewChat(t.Context(), agent, terminal.Output{}, func() time.Time { return now }, "hello", ""), chatAgent: agent}
	u.update(tea.WindowSizeMsg{Width: width, Height: height})
	u.update(Opened{ID: "ses_root"})
	return u
}

// update passes on a message. The agent does at once what follows from it, except for a
// prompt, whose end the test passes on.
func (u *chatUser) update(msg tea.Msg) {
	was := u.m.running
	u.m.printing = true // the waiting lines are removed here
	_, cmd := u.m.Update(msg)
	u.above = append(u.above, u.m.out...)
	u.m.out = nil
	if u.m.running && !was {
		stop := u.m.stop
		u.m.stop = func() { u.stopped = true; stop() }
	}
	u.follow(cmd)
}

// follow does what a command says. Of printing, the lines are noted already.
func (u *chatUser) follow(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, cmd := range msg {
			u.follow(cmd)
		}
	case outcome:
		u.update(msg)
	case tea.QuitMsg:
		u.quit = true
	}
}

func (u *chatUser) press(keys ...string) { press(u.update, keys) }

// hears tells of events of a session, by the ids from the root down.
func (u *chatUser) hears(path string, events ...event.Event) {
	var hops event.Path
	for id := range strings.SplitSeq(path, "/") {
		hops = append(hops, event.Hop{SessionID: id})
	}
	for _, ev := range events {
		u.update(Facts{{Path: hops, Event: ev, Time: now}})
	}
}

// screen is all that is shown: the printed lines, and the screen below them.
func (u *chatUser) screen() string {
	lines := append(append([]string{}, u.above...), strings.Split(u.m.View().Content, "\n")...)
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func (u *chatUser) sees(want string) {
	u.t.Helper()
	if got := u.screen(); got != want {
		u.t.Errorf("the screen is\n%s\nwant\n%s", got, want)
	}
}

func (u *chatUser) asked(id string) chan approval.Answer {
	reply := make(chan approval.Answer, 1)
	u.update(Asked{Approval: &approval.Approval{
		ID: id, SessionID: "ses_b", Agent: "general", Tool: "shell_exec", Arguments: `{"command":"rm x"}`,
		Patterns: []string{"rm x"}, AlwaysPatterns: []string{"rm *"}, Reason: "the rules ask",
		Question: event.Question{Title: "run a command", Parts: []event.QuestionPart{{Name: "command", Form: "command", Text: "rm x"}}},
	}, Context: u.t.Context(), Reply: reply})
	return reply
}

// TestChatTurn: the answer is shown while it is written, with the work of the agent and its
// subagents.
func TestChatTurn(t *testing.T) {
	u := openChat(t, 60, 20)
	u.press("do it", "enter")
	u.hears("ses_root", event.StatusChange{Status: event.StatusStreaming}, event.ContentDelta{MessageID: "m1", Delta: "I look\n\nat "}, event.ContentDelta{MessageID: "m1", Delta: "it."})
	u.sees("hello\n> do it\nI look\n\nat it.\nanswering  0s  ctrl+c stops it\n>")
	u.hears("ses_root", event.ToolCallStart{ToolCallID: "1", ToolName: "grep", Arguments: `{"pattern":"x"}`}, event.ToolCallEnd{ToolCallID: "1", ToolName: "grep"},
		event.ToolCallStart{ToolCallID: "2", ToolName: "task"})
	u.hears("ses_root/ses_a", event.SessionStart{AgentType: "explore", Description: "read the docs"}, event.ToolCallStart{ToolCallID: "3", ToolName: "list_dir"})
	u.hears("ses_root/ses_a/ses_b", event.SessionStart{AgentType: "general", Description: "write"})
	u.sees("hello\n> do it\nI look\n\nat it.\n  grep x  ok\n" +
		"  └ explore  read the docs  list_dir                      0s\n" +
		"    └ general  write                                      0s\nanswering  0s  ctrl+c stops it\n>")
	u.hears("ses_root/ses_a/ses_b", event.SessionEnd{Status: "completed"})
	u.hears("ses_root/ses_a", event.Error{Message: "it is late"}, event.SessionEnd{Status: "failed"})
	u.hears("ses_root", event.ToolCallEnd{ToolCallID: "2", ToolName: "task", IsError: true, Result: "<task_error>"}, // which its subagent has said
		event.ContentDelta{MessageID: "m2", Delta: "It failed."}, event.TurnComplete{})
	u.update(Answered{Text: "It failed."})
	u.sees("hello\n> do it\nI look\n\nat it.\n  grep x  ok\n    general  write  completed  0s\n  explore  read the docs  failed  0s  it is late\nIt failed.\n\n>")
}

// TestLate: a turn is over once all that it has chatAgent has come.
func TestLate(t *testing.T) {
	u := openChat(t, 60, 20)
	u.press("a", "enter")
	u.update(Answered{Text: "so it is", Seq: 7})
	if !u.m.running {
		t.Error("the turn is over before its last event")
	}
	u.update(Facts{{Path: event.Path{{SessionID: "ses_root"}}, Event: event.StatusChange{Status: event.StatusIdle}, Seq: 7}})
	u.sees("hello\n> a\nso it is\n\n>")
}

// TestLongLine: a line without an end is printed as well, and nothing of it is lost.
func TestLongLine(t *testing.T) {
	u := openChat(t, 60, 20)
	u.press("a", "enter")
	for range 1000 {
		u.hears("ses_root", event.ContentDelta{MessageID: "m", Delta: "twelve bytes"})
	}
	if len(u.m.text) > maxUnbroken || len(u.above) < 100 {
		t.Errorf("%d bytes wait, %d lines are printed", len(u.m.text), len(u.above))
	}
	u.hears("ses_root", event.TurnComplete{})
	outcome := strings.Join(strings.Fields(strings.Join(u.above[2:], "")), "") // without the greeting and the line that was typed
	if want := strings.Repeat("twelvebytes", 1000); outcome != want {
		t.Errorf("%d bytes are said, want %d", len(outcome), len(want))
	}
}

// TestQuestions: what is typed answers the question that is shown, and a draft is kept.
func TestQuestions(t *testing.T) {
	u := openChat(t, 60, 20)
	u.press("go", "enter", "draft")
	first, second := u.asked("apr_1"), u.asked("apr_2")
	u.sees("hello\n> go\ngeneral asks to run a command (shell_exec)\n    rm x\n  the rules ask\n  \"always\" adds to permissions.jsonc:\n    {\"shell_exec\":{\"rm\":\"allow\"}}\n    {\"shell_exec\":{\"rm *\":\"allow\"}}\n" +
		"[y] yes, this time   [A] always   [n REASON] no\n>")
	u.press("maybe", "enter")
	if len(first) > 0 {
		t.Fatal("it is answered")
	}
	u.press("n not now", "enter")
	if got := <-first; got.Verdict != approval.DenyCall || got.Feedback != "not now" {
		t.Errorf("got %+v", got)
	}
	u.press("A", "enter")
	if got := <-second; got.Verdict != approval.ApproveAlways {
		t.Errorf("got %+v", got)
	}
	if got := u.m.input.Value(); got != "draft" {
		t.Errorf("the draft is %q", got)
	}
	if got := strings.Join(u.calls, ", "); got != "prompt go" {
		t.Errorf("the agent was told %q", got)
	}
}

// TestQuestionOver: a question that was answered elsewhere takes no answer.
func TestQuestionOver(t *testing.T) {
	u := openChat(t, 60, 20)
	ctx, cancel := context.WithCancel(t.Context())
	u.update(Asked{Approval: &approval.Approval{ID: "apr_1", Tool: "t", Patterns: []string{"x"}}, Context: ctx, Reply: make(chan approval.Answer, 1)})
	cancel()
	u.update(tea.WindowSizeMsg{Width: 60, Height: 20})
	if !strings.Contains(u.screen(), "this question is over") || len(u.m.asked) > 0 {
		t.Error(u.screen())
	}
}

// TestLines: what each typed line does.
func TestLines(t *testing.T) {
	for _, tt := range []struct {
		keys []string
		do   string // what the agent is chatAgent
		see  string // at the end of what was printed
	}{
		{[]string{"hello", "ctrl+j", "you", "enter"}, "prompt hello\nyou", "  you"},
		{[]string{"go", "enter", "faster", "enter"}, "prompt go, send faster", "it is read before the next step"},
		{[]string{"/help", "enter"}, "", "before its next step."},
		{[]string{"/agents", "enter"}, "", "explore  finds things"},
		{[]string{"/model", "enter"}, "", "m1"},
		{[]string{"/model m2", "enter"}, "", "the next turns run on m2"},
		{[]string{"/model none", "enter"}, "", "no such model"},
		{[]string{"go", "enter", "/model m2", "enter"}, "prompt go", "wait for the answer, or /stop it"},
		{[]string{"/stop ses_a", "enter"}, "stop ses_a", "ses_a is cancelled"},
		{[]string{"/stop", "enter"}, "", "nothing runs"},
		{[]string{"/nope x", "enter"}, "", "there is no /nope: /help lists what there is"},
		{[]string{"/usr/bin is full", "enter"}, "prompt /usr/bin is full", "> /usr/bin is full"},
		{[]string{"  ", "enter"}, "", "hello"},
		{[]string{"/agents", "enter", "/model", "enter", "up", "up", "up", "enter"}, "", "explore  finds things"},
		{[]string{"/agents", "enter", "draft", "up", "down", "enter"}, "prompt draft", "> draft"},
	} {
		u := openChat(t, 80, 24)
		u.press(tt.keys...)
		if got := strings.Join(u.calls, ", "); got != tt.do {
			t.Errorf("%q: the agent is told %q, want %q", tt.keys, got, tt.do)
		}
		if got := u.above[len(u.above)-1]; !strings.HasSuffix(got, tt.see) {
			t.Errorf("%q: it ends in %q, want %q", tt.keys, got, tt.see)
		}
	}
}

// TestPaste: pasted lines are one text, and no command, whatever is in them.
func TestPaste(t *testing.T) {
	u := openChat(t, 80, 24)
	u.update(tea.PasteMsg{Content: "/quit now\r\nsecond \x1b[31mline\nthird"})
	u.press("enter")
	if got := strings.Join(u.calls, ", "); got != "prompt /quit now\nsecond [31mline\nthird" {
		t.Errorf("the agent is told %q", got)
	}
}

// TestEnds: how the conversation and its turns end.
func TestEnds(t *testing.T) {
	for _, tt := range []struct {
		keys          []string
		stopped, quit bool
	}{
		{[]string{"ctrl+d"}, false, true},
		{[]string{"/quit", "enter"}, false, true},
		{[]string{"x", "ctrl+d"}, false, false},
		{[]string{"ctrl+c"}, false, false},
		{[]string{"ctrl+c", "ctrl+c"}, false, true},
		{[]string{"ctrl+c", "x", "ctrl+c", "ctrl+c"}, false, false}, // the second one takes the line away
		{[]string{"go", "enter", "ctrl+c"}, true, false},
		{[]string{"go", "enter", "/stop", "enter"}, true, false},
		{[]string{"go", "enter", "ctrl+c", "ctrl+c"}, true, true},
		{[]string{"go", "enter", "ctrl+d"}, true, true},
	} {
		u := openChat(t, 80, 24)
		u.press(tt.keys...)
		if u.stopped {
			u.update(Answered{Err: errors.New("stopped")})
		}
		if u.stopped != tt.stopped || u.quit != tt.quit {
			t.Errorf("%q: stopped %t, ended %t", tt.keys, u.stopped, u.quit)
		}
	}
}

// TestChatFits: whatever is said, no line is too long, the screen leaves room above it, and
// nothing moves the cursor.
func TestChatFits(t *testing.T) {
	const evil = "\x1b[2J\x1b]0;x\a\u202eevil 日本語日本語日本語日本語日本語 \u009b31m\r\t and a_very_long_word_that_no_line_holds_because_it_is_too_long"
	for _, size := range [][2]int{{12, 5}, {33, 9}, {50, 15}, {80, 24}} {
		u := openChat(t, size[0], size[1])
		u.press("go", "enter", strings.Repeat("typed ", 20))
		u.hears("ses_root", event.ContentDelta{MessageID: "m", Delta: evil + "\n" + strings.Repeat(evil, 6)}, event.Warning{Message: evil})
		for i := range 12 {
			u.hears(fmt.Sprintf("ses_root/ses_%d", i), event.SessionStart{AgentType: evil, Description: evil}, event.ToolCallStart{ToolCallID: "1", ToolName: evil, Arguments: evil})
		}
		u.hears("ses_root/ses_1", event.Error{Message: evil}, event.SessionEnd{Status: "failed"})
		u.hears("ses_root", event.ToolCallStart{ToolCallID: "2", ToolName: evil}, event.ToolCallEnd{ToolCallID: "2", ToolName: evil, IsError: true, Result: evil})
		u.asked("apr")
		below := strings.Split(u.m.View().Content, "\n")
		if len(below) > max(2, size[1]-1) {
			t.Errorf("at %v: %d lines:\n%s", size, len(below), u.m.View().Content)
		}
		for _, line := range append(below, u.above...) {
			if n := terminal.Cells(line); n > size[0] {
				t.Errorf("at %v: %d columns: %q", size, n, line)
			}
			if i := strings.IndexFunc(line, func(r rune) bool { return unicode.IsControl(r) || r == '\u202e' }); i >= 0 {
				t.Errorf("at %v: %q", size, line)
			}
		}
	}
}

// TestFlush: no more is printed at once than there is room for above the screen, and in
// its order.
func TestFlush(t *testing.T) {
	m := NewChat(t.Context(), &chatAgent{}, terminal.Output{}, time.Now, strings.Repeat("line\n", 50), "")
	m.Update(tea.WindowSizeMsg{Width: 40, Height: 10})
	if !m.printing || len(m.out) < 40 || len(m.out) == 50 {
		t.Errorf("%d lines are left", len(m.out))
	}
	before := len(m.out)
	m.Update(tick{})
	if len(m.out) != before {
		t.Error("a part is printed before the one before it")
	}
	for range 50 {
		m.Update(printed{})
	}
	if len(m.out) > 0 {
		t.Errorf("%d lines are left", len(m.out))
	}
}

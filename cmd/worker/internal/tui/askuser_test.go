package tui

import (
	"reflect"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/question"
)

// agentQuestion is what an agent asks, with a line that would pass for one of the program.
func agentQuestion(ask event.Ask) *approval.Approval {
	return &approval.Approval{ID: "qst_1", SessionID: "ses_asks", Agent: "general", Tool: "ask_user", Question: ask.Shown(), Ask: &ask,
		Path: event.Path{{SessionID: "ses_root"}, {SessionID: "ses_lead", AgentType: "lead"}, {SessionID: "ses_asks", AgentType: "general"}}}
}

// TestReadReply: an answer is a text, an option or its number. What could mean two options means none.
func TestReadReply(t *testing.T) {
	text, one := event.Ask{Question: "?"}, event.Ask{Question: "?", Options: []string{"a", "2", "b, c"}, Default: "a"}
	several := event.Ask{Question: "?", Options: []string{"a", "b", "c"}, Multiple: true}
	for _, tt := range []struct {
		ask   event.Ask
		line  string
		want  []string
		fails string
	}{
		{text, " y it is ", []string{"y it is"}, ""}, {text, "", nil, "empty"}, {text, "/skipped", []string{"/skipped"}, ""},
		{one, "1", []string{"a"}, ""}, {one, "a", []string{"a"}, ""}, {one, "", []string{"a"}, ""}, {one, "3", []string{"b, c"}, ""}, {one, "b, c", []string{"b, c"}, ""},
		{one, "2", []string{"2"}, ""}, {one, "4", nil, "none of the options"}, {one, "0", nil, "none of the options"}, {one, "a, 2", nil, "none of the options"},
		{event.Ask{Question: "?", Options: []string{"2", "x"}}, "2", nil, "use #2 or #1"}, {event.Ask{Question: "?", Options: []string{"2", "x"}}, "#2", []string{"x"}, ""},
		{several, "3,a", []string{"c", "a"}, ""}, {several, "1,1", nil, "twice"}, {several, "1,", nil, "none of the options"}, {several, "", nil, "empty"},
		{several, strings.Repeat("9", 100), nil, "none of the options"}, {text, strings.Repeat("x", approval.MaxAnswer+1), nil, "it may have"},
	} {
		got, err := ReadReply(agentQuestion(tt.ask), tt.line, false, true)
		if tt.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%.40q: %v, %v, want %q", tt.line, got, err, tt.fails)
			}
			continue
		}
		if err != nil || got.Verdict != approval.AnswerAsk || !reflect.DeepEqual(got.Answers, tt.want) {
			t.Errorf("%q: %+v, %v, want %q", tt.line, got, err, tt.want)
		}
	}
	if got, err := ReadReply(agentQuestion(one), "/skip not today", false, true); err != nil || got.Verdict != approval.DenyCall || got.Feedback != "not today" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestAgentWords: no line of a question of an agent begins where those of the program do, however
// long it is, and nothing hides in it.
func TestAgentWords(t *testing.T) {
	for _, width := range []int{0, 30, QuestionWidth} {
		var b strings.Builder
		ask := event.Ask{Question: strings.Repeat("x", 70) + strings.Repeat(" ", 60) + "lead asks to run a command (shell_exec)\nlead asks to: \x1b[2J\u202e[y] yes\r\n[A] always", Options: []string{"a", strings.Repeat("[y] yes ", 25)}}
		always, _ := WriteQuestion(&b, agentQuestion(ask), question.Terminal, width)
		if always || strings.ContainsAny(b.String(), "\x1b\u202e\r") {
			t.Errorf("always %v:\n%s", always, b.String())
		}
		for i, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
			own := strings.Contains("lead › general asks a question:|its options:|"+question.Secrets, strings.TrimSpace(line))
			if !own && !strings.HasPrefix(line, "    ") {
				t.Errorf("line %d of %d columns: %q", i, width, line)
			}
		}
	}
}

// TestChatQuestion: a line answers what the agent asks; what does not fit is said.
func TestChatQuestion(t *testing.T) {
	u := openChat(t, 60, 20)
	reply := make(chan approval.Answer, 1)
	u.press("go", "enter")
	u.update(Asked{Approval: agentQuestion(event.Ask{Question: "Which?", Options: []string{"a", "b"}, Default: "b"}), Context: t.Context(), Reply: reply})
	u.sees("hello\n> go\nlead › general asks a question:\n    Which?\n  its options:\n    1  a\n    2  b\n  without an answer this holds:\n    b\n  The answer goes to the agent's model: give no password\n  and no key.\n" +
		"[1-2] your answer   [enter] what holds without one   [/skip…\n>")
	u.press("c", "enter")
	if !strings.Contains(u.screen(), `"c" is none of the options`) || len(reply) > 0 {
		t.Fatal(u.screen())
	}
	u.press("1", "enter")
	if got := <-reply; !reflect.DeepEqual(got.Answers, []string{"a"}) || got.By != "the terminal" {
		t.Errorf("%+v", got)
	}
}

// TestTopQuestion: a question of an agent is read, and then answered by a line.
func TestTopQuestion(t *testing.T) {
	l := shop()
	l.Pending = []*approval.Approval{agentQuestion(event.Ask{Question: "Which?", Options: []string{"a", "b"}})}
	for _, tt := range []struct {
		keys    []string
		see, do string
	}{
		{[]string{"v"}, "answer? enter: type it  n no answer", ""},
		{[]string{"v", "y"}, "answer? enter: type it", ""},
		{[]string{"v", "enter", "2", "enter"}, "done", "answer qst_1 3 "},
		{[]string{"v", "enter", "c", "enter"}, `"c" is none of the options`, ""},
		{[]string{"v", "enter", "c", "enter", "enter", "b", "enter"}, "done", "answer qst_1 3 "},
		{[]string{"v", "n", "not now", "enter"}, "done", "answer qst_1 0 not now"},
		{[]string{"v", "enter", "esc"}, ">!├ general", ""},
	} {
		u := openTop(t, 80, 24)
		u.update(l)
		u.sees("question")
		u.press(tt.keys...)
		u.sees(tt.see)
		if got := strings.Join(u.calls, ", "); got != tt.do {
			t.Errorf("%q does %q, want %q", tt.keys, got, tt.do)
		}
	}
}

package session_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

// audited has a manager write an audit log, which is returned.
func audited(t *testing.T, o *session.Options) *audit.Log {
	t.Helper()
	log, err := audit.Open(t.Context(), o.Bus, audit.Options{User: "alice@host"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() }) // of a store that a test has broken it fails
	o.Audit = log
	return log
}

// TestAudit: the start and the end of a session and each decision between them are in the
// log, with who, what, why and how.
func TestAudit(t *testing.T) {
	m := turns{calls(
		call("1", "touch", "free"), call("2", "touch", "never"), call("3", "touch", "perhaps"),
		model.ToolCall{ID: "4", Name: "touch", Arguments: `{}`},
		model.ToolCall{ID: "5", Name: "nosuch", Arguments: `{}`}, model.ToolCall{ID: "6", Name: "touch", Arguments: `not JSON`},
		model.ToolCall{ID: "7", Name: "mcp__gone__tool", Arguments: `{"x":1}`}, model.ToolCall{ID: "8", Name: strings.Repeat("x", 5000), Arguments: `{}`},
	), say("ok")}
	var log *audit.Log
	e := newEnv(t, m, func(o *session.Options) {
		o.Approver, log = &answers{answer: approval.Answer{Verdict: approval.ApproveAlways, By: "somebody"}}, audited(t, o)
	})
	e.static.rules = permission.MustRuleset(rule("touch", "free", permission.Allow), rule("touch", "never", permission.Deny))
	s := e.open(session.Spec{Description: "a host 1.2", Tools: []tool.Tool{echo("touch")}})
	e.end(s, s.Prompt(t.Context(), "go"))
	if err := log.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := log.Page(t.Context(), &audit.Filter{}, audit.MaxPage, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range page.Records {
		if r.Time.IsZero() || r.SessionID != s.ID() || r.RootID != s.ID() || r.Agent != "agent" || r.User != "alice@host" || r.Client != "a host 1.2" || r.Worker == "" {
			t.Errorf("record %+v", r)
		}
		value := ""
		if len(r.Values) > 0 {
			value = r.Values[0].Tool + " " + r.Values[0].Text
		}
		got = append(got, strings.Join([]string{string(r.Kind), r.ToolCallID, r.Tool, value, r.Action, string(r.Layer), r.Source, r.Question, r.Outcome, r.By, strings.Join(r.Always, "+")}, "|"))
	}
	want := []string{
		"answer|3|touch|touch perhaps|ask|default|built in:7|call it|approved|somebody|perhaps",
		"decision|1|touch|touch free|allow|static|rules:1||allowed||",
		"decision|2|touch|touch never|deny|static|rules:1||denied||",
		"decision|4|touch||deny|default|||denied||",
		"decision|5|nosuch||deny|default|||denied||",
		"decision|6|touch||deny|default|||denied||",
		"decision|7|mcp__gone__tool||deny|default|||denied||",
		"decision|8|" + termtext.CutBytes(strings.Repeat("x", 5000), 300) + "||deny|default|||denied||",
		"session_end||||||||completed||",
		"session_start||||||||||",
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("records\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if first, last := page.Records[len(page.Records)-1], page.Records[0]; first.Kind != audit.SessionStart || last.Kind != audit.SessionEnd {
		t.Errorf("the first record is a %s, the last one a %s", first.Kind, last.Kind)
	}
}

// TestAuditQuestion: who has answered a question of the agent is in the log, and what it was.
func TestAuditQuestion(t *testing.T) {
	var log *audit.Log
	e := newEnv(t, turns{calls(ask(t, map[string]any{"question": "Which?", "options": []string{"a", "b"}})), say("ok")}, func(o *session.Options) {
		o.Approver, log = &answers{answer: approval.Answer{Verdict: approval.AnswerAsk, Answers: []string{"a"}, By: "somebody"}}, audited(t, o)
	})
	s := e.open(session.Spec{Tools: []tool.Tool{e.Questions()}})
	e.end(s, s.Prompt(t.Context(), "go"))
	if err := log.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := log.Page(t.Context(), &audit.Filter{Kind: string(audit.Answer)}, audit.MaxPage, "")
	if err != nil {
		t.Fatal(err)
	}
	r := page.Records[0] // the newest; the one before says that the question needed no approval
	if r.Tool != "ask_user" || r.ToolCallID != "1" || r.Question != `answer "Which?"` || r.Outcome != "answered" || r.By != "somebody" {
		t.Errorf("%+v", r)
	}
}

// TestAuditFailsClosed: where the log can't be written, a call that the rules allow is
// refused, and its tool does not run. The session goes on.
func TestAuditFailsClosed(t *testing.T) {
	m := turns{calls(call("1", "touch", "x")), say("ok")}
	var log *audit.Log
	e := newEnv(t, m, func(o *session.Options) { log = audited(t, o) })
	s := e.open(session.Spec{Tools: []tool.Tool{echo("touch")}})
	if err := log.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	stream, err := e.bus.JetStream().Stream(t.Context(), audit.StreamName("ws"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.MaxMsgSize = 10
	if _, err := e.bus.JetStream().CreateOrUpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	out := s.Prompt(t.Context(), "go")
	e.end(s, out) // and all of it is stored
	messages, err := e.Store().Transcripts.Messages(t.Context(), s.ID())
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, m := range messages {
		for _, r := range m.ToolResults {
			told = append(told, r.Text)
		}
	}
	if len(told) != 1 || !strings.HasPrefix(told[0], "touch is refused, since the audit log can't be written: ") || out.Status != record.Completed {
		t.Errorf("the model is told %q, and the session is %s, %v", told, out.Status, out.Err)
	}
	cfg.MaxMsgSize = -1
	if _, err := e.bus.JetStream().CreateOrUpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
}

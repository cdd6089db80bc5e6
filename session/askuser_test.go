package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

// ask is a call of ask_user.
func ask(t *testing.T, args map[string]any) model.ToolCall {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return model.ToolCall{ID: "1", Name: "ask_user", Arguments: string(data)}
}

// TestAskUser: who can answer a question, and what the agent is told in each case. It goes on in
// all of them.
func TestAskUser(t *testing.T) {
	const key = "ghp_a1B2c3D4a1B2c3D4a1B2c3D4a1B2c3D4a1B2"
	here := func(answer approval.Answer, err error) func(*session.Options) {
		return func(o *session.Options) {
			o.Approver = approval.ApproverFunc(func(context.Context, *approval.Approval) (approval.Answer, error) { return answer, err })
		}
	}
	answers := func(texts ...string) approval.Answer {
		return approval.Answer{Verdict: approval.AnswerAsk, Answers: texts, By: "somebody"}
	}
	unattended := func(o *session.Options) { o.Unattended = true }
	which := map[string]any{"question": "Which?", "options": []string{"a", "b"}, "default": "b"}
	words := map[string]any{"question": "Where? " + key}
	for name, tt := range map[string]struct {
		args    map[string]any
		change  func(*session.Options)
		told    string
		outcome event.ApprovalOutcome // empty: nobody was asked
	}{
		"nobody":              {which, unattended, "Nobody is there who could answer. Your default holds:\nb", ""},
		"nobody, in words":    {words, unattended, "Nobody is there who could answer. Go on by your own judgement", ""},
		"yes is no answer":    {which, func(o *session.Options) { o.Unattended, o.Approver = true, approval.AlwaysYes }, "Nobody is there", ""},
		"here":                {which, here(answers("a"), nil), "The person has answered:\na", event.Answered},
		"a key":               {words, here(answers("take "+key), nil), "answered:\ntake ghp_[masked: GitHub]", event.Answered},
		"declined":            {which, here(approval.Answer{Feedback: "no"}, nil), "and says:\nno", event.Declined},
		"none of the options": {which, here(answers("c"), nil), "The question was withdrawn", event.Cancelled},
		"approved":            {which, here(approval.Answer{Verdict: approval.ApproveAlways}, nil), "The question was withdrawn", event.Cancelled},
		"the terminal goes":   {which, here(approval.Answer{}, errors.New("the terminal was closed")), "The question was withdrawn. Your default holds:\nb", event.Cancelled},
		"too late":            {which, func(o *session.Options) { o.Limits.Approval = time.Millisecond }, "No answer came within 1ms. Your default holds:\nb", event.Expired},
		"100 KB":              {map[string]any{"question": strings.Repeat("x", 100_000)}, nil, "question has 100000 bytes: it may have 4096", ""},
		"an option of 100 KB": {map[string]any{"question": "?", "options": []string{"a", strings.Repeat("x", 100_000)}}, nil, "option 2 has 100000 bytes: it may have 200", ""},
		"many options":        {map[string]any{"question": "?", "options": make([]string, 1000)}, nil, "there are 1000 options: there may be 20", ""},
		"many lines":          {map[string]any{"question": strings.Repeat("x\n", 100)}, nil, "question has 101 lines: it may have 60", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var told model.ToolResult
			e := newEnv(t, turns{calls(ask(t, tt.args)), func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
				told = req.Messages[len(req.Messages)-1].ToolResults[0]
				say("ok")(ctx, req, yield)
			}}, tt.change)
			e.static.rules = permission.MustRuleset(rule("*", "*", permission.Ask)) // nobody is asked about it
			s := e.open(session.Spec{Tools: []tool.Tool{e.Questions()}})
			out := s.Prompt(t.Context(), "go")
			e.end(s, out)
			if out.Status != record.Completed || !strings.Contains(told.Text, tt.told) {
				t.Errorf("%s: told %q, want %q", out.Status, told.Text, tt.told)
			}
			var asked, ended int
			for _, ev := range e.events(s) {
				switch ev := ev.(type) {
				case event.QuestionAsked:
					asked++
					if strings.Contains(ev.Question, key) || ev.SessionID != s.ID() || len(ev.Path) != 1 {
						t.Errorf("%+v", ev)
					}
				case event.QuestionAnswered:
					if ended++; ev.Outcome != tt.outcome {
						t.Errorf("%+v", ev)
					}
				}
			}
			if asked != ended && tt.outcome != "" || (ended == 1) != (tt.outcome != "") {
				t.Errorf("asked %d times, over %d times", asked, ended)
			}
			all, err := e.Store().Approvals.All(t.Context())
			stored, _ := json.Marshal(all)
			if err != nil || strings.Contains(string(stored), key) {
				t.Errorf("stored: %s, %v", stored, err)
			}
			for _, a := range all {
				if a.Pending() {
					t.Errorf("%+v waits", a)
				}
			}
		})
	}
}

// TestAskUserElsewhere: a process without anybody waits where somebody is connected to another. A
// question is over with its session.
func TestAskUserElsewhere(t *testing.T) {
	for name, stops := range map[string]bool{"answered": false, "stopped": true} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, turns{calls(ask(t, map[string]any{"question": "Which?"})), say("ok")}, func(o *session.Options) {
				o.Unattended, o.Present = true, func(context.Context) string { return "worker top" }
			})
			s := e.open(session.Spec{Tools: []tool.Tool{e.Questions()}})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := make(chan session.Outcome, 1)
			go func() { out <- s.Prompt(ctx, "go") }()
			want := event.Answered
			for d, err := range e.bus.Follow(t.Context(), s.Path(), &eventbus.FollowOptions{Live: true}) {
				if err != nil {
					t.Fatal(err)
				}
				ev, err := event.Decode(d.Raw)
				if asked, ok := ev.(event.QuestionAsked); err == nil && ok {
					if r := s.Record(); asked.Where != "worker top" || r.Status != record.WaitingApproval {
						t.Errorf("%+v, and the session is %s", asked, r.Status)
					}
					if stops {
						want = event.Cancelled
						cancel()
					} else if _, err := e.Store().Approvals.Answer(t.Context(), asked.QuestionID, approval.Answer{Verdict: approval.AnswerAsk, Answers: []string{"x"}}); err != nil {
						t.Error(err)
					}
					break
				}
			}
			e.end(s, <-out)
			for _, ev := range e.events(s) {
				if over, ok := ev.(event.QuestionAnswered); ok && over.Outcome != want {
					t.Errorf("%+v, want %s", over, want)
				}
			}
		})
	}
}

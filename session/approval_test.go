package session_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// waiting is a session whose model has made calls that nobody at hand answers.
type waiting struct {
	*env
	session *session.Session
	out     chan session.Outcome
	results chan []model.ToolResult // what the model was told
	cancel  context.CancelFunc
	asked   []event.ToolApprovalRequired
}

// wait runs a session up to where all its calls wait.
func wait(t *testing.T, change func(*session.Options), toolCalls ...model.ToolCall) *waiting {
	t.Helper()
	w := &waiting{out: make(chan session.Outcome, 1), results: make(chan []model.ToolResult, 1)}
	w.env = newEnv(t, turns{calls(toolCalls...), func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		w.results <- req.Messages[len(req.Messages)-1].ToolResults
		say("ok")(ctx, req, yield)
	}}, change)
	w.static.rules = permission.MustRuleset(rule("*", "*", permission.Ask))
	w.session = w.open(session.Spec{Tools: []tool.Tool{echo("touch")}})
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	go func() { w.out <- w.session.Prompt(ctx, "go") }()
	for d, err := range w.bus.Follow(t.Context(), w.session.Path(), &eventbus.FollowOptions{Live: true}) {
		if err != nil {
			t.Fatal(err)
		}
		ev, err := event.Decode(d.Raw)
		if err != nil {
			t.Fatal(err)
		}
		if asked, ok := ev.(event.ToolApprovalRequired); ok {
			w.asked = append(w.asked, asked)
		}
		if len(w.asked) == len(toolCalls) {
			break
		}
	}
	return w
}

// finish ends the session and returns how its approvals were resolved.
func (w *waiting) finish() map[string]event.ApprovalOutcome {
	w.t.Helper()
	w.end(w.session, <-w.out)
	w.cancel()
	outcomes := make(map[string]event.ApprovalOutcome)
	for _, ev := range w.events(w.session) {
		if r, ok := ev.(event.ToolApprovalResolved); ok {
			outcomes[r.ApprovalID] = r.Outcome
		}
	}
	pending, err := w.Store().Approvals.Pending(w.t.Context())
	if err != nil || len(pending) > 0 {
		w.t.Errorf("after the end %d approvals wait, %v", len(pending), err)
	}
	return outcomes
}

func TestAnswerFromElsewhere(t *testing.T) {
	tests := []struct {
		name   string
		answer approval.Answer
		want   event.ApprovalOutcome
		told   string
		added  int
	}{
		{"approved", approval.Answer{Verdict: approval.ApproveOnce, By: "somebody"}, event.Approved, "touch {", 0},
		{"always", approval.Answer{Verdict: approval.ApproveAlways}, event.Approved, "touch {", 1},
		{"denied", approval.Answer{}, event.Denied, "The user denied touch.", 0},
		{"denied with a reason", approval.Answer{Feedback: "use the copy"}, event.Denied, "The user denied touch: use the copy", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := wait(t, nil, call("1", "touch", "a file"))
			pending, err := w.Store().Approvals.Pending(t.Context())
			if err != nil || len(pending) != 1 {
				t.Fatalf("%d approvals wait, %v, want 1", len(pending), err)
			}
			p := pending[0]
			if p.ID != w.asked[0].ApprovalID || p.SessionID != w.session.ID() || p.Agent != "agent" || p.Tool != "touch" ||
				p.Arguments != `{"v":"a file"}` || !slices.Equal(p.Patterns, []string{"a file"}) || p.Reason == "" || !p.Pending() ||
				p.ExpiresAt.Sub(p.CreatedAt) != 10*time.Minute || !p.ExpiresAt.Equal(w.asked[0].ExpiresAt) {
				t.Errorf("what waits: %+v", p)
			}
			a, err := w.Store().Approvals.Answer(t.Context(), p.ID[:8], tt.answer)
			if err != nil || a.Outcome != tt.want || a.AnsweredBy != tt.answer.By {
				t.Errorf("Answer(%+v) = %+v, %v", tt.answer, a, err)
			}
			if told := <-w.results; !strings.HasPrefix(told[0].Text, tt.told) {
				t.Errorf("the model is told %q, want %q", told[0].Text, tt.told)
			}
			if outcomes := w.finish(); outcomes[p.ID] != tt.want || len(w.static.added) != tt.added {
				t.Errorf("outcomes %v, rules added %v", outcomes, w.static.added)
			}
			var late *approval.AnsweredError
			if _, err := w.Store().Approvals.Answer(t.Context(), p.ID, approval.Answer{}); !errors.As(err, &late) || late.Approval.Outcome != tt.want {
				t.Errorf("a late answer: %v", err)
			}
			if _, err := w.Store().Approvals.Answer(t.Context(), "apr_none", approval.Answer{}); !errors.Is(err, record.ErrNotFound) {
				t.Errorf("an answer to nothing: %v", err)
			}
		})
	}
}

// TestFirstAnswerWins: of many answers at once one counts, and the others are
// told so.
func TestFirstAnswerWins(t *testing.T) {
	w := wait(t, nil, call("1", "touch", "x"))
	const n = 16
	errs := make([]error, n)
	var answers sync.WaitGroup
	for i := range n {
		answers.Go(func() {
			verdict := approval.ApproveOnce
			if i%2 == 0 {
				verdict = approval.DenyCall
			}
			_, errs[i] = w.Store().Approvals.Answer(t.Context(), w.asked[0].ApprovalID, approval.Answer{Verdict: verdict})
		})
	}
	answers.Wait()
	won := -1
	for i, err := range errs {
		var late *approval.AnsweredError
		switch {
		case err == nil && won < 0:
			won = i
		case !errors.As(err, &late):
			t.Errorf("answer %d: %v", i, err)
		}
	}
	if told := <-w.results; won < 0 || told[0].IsError != (won%2 == 0) {
		t.Errorf("answer %d won, and the model was told %+v", won, told)
	}
	w.finish()
}

// TestAlwaysResolvesOthers: an "always" answers the other calls that its rule
// covers, and no more.
func TestAlwaysResolvesOthers(t *testing.T) {
	w := wait(t, nil, call("1", "touch", "x"), call("2", "touch", "y"), call("3", "touch", "x"))
	byValue := make(map[string][]string)
	for _, a := range w.asked {
		byValue[a.Patterns[0]] = append(byValue[a.Patterns[0]], a.ApprovalID)
	}
	if _, err := w.Store().Approvals.Answer(t.Context(), byValue["x"][1], approval.Answer{Verdict: approval.ApproveAlways}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Store().Approvals.Answer(t.Context(), byValue["y"][0], approval.Answer{}); err != nil {
		t.Fatal(err)
	}
	told := <-w.results
	if told[0].IsError || !told[1].IsError || told[2].IsError {
		t.Errorf("the model is told %+v", told)
	}
	outcomes := w.finish()
	if outcomes[byValue["x"][0]] != event.Approved || outcomes[byValue["y"][0]] != event.Denied {
		t.Errorf("outcomes %v", outcomes)
	}
	if a, err := w.Store().Approvals.Get(t.Context(), byValue["x"][0]); err != nil || a.AnsweredBy != "the rules" {
		t.Errorf("the one that the rule covers: %+v, %v", a, err)
	}
}

func TestApprovalExpires(t *testing.T) {
	w := wait(t, func(o *session.Options) { o.Limits.Approval = 50 * time.Millisecond }, call("1", "touch", "x"))
	if told := <-w.results; !told[0].IsError || !strings.Contains(told[0].Text, "nobody has answered within 50ms") {
		t.Errorf("the model is told %+v", told)
	}
	if outcomes := w.finish(); outcomes[w.asked[0].ApprovalID] != event.Expired {
		t.Errorf("outcomes %v", outcomes)
	}
}

// TestAbortCancelsApprovals: an approval ends with its session.
func TestAbortCancelsApprovals(t *testing.T) {
	w := wait(t, nil, call("1", "touch", "x"), call("2", "touch", "y"))
	w.cancel()
	outcomes := w.finish()
	for _, a := range w.asked {
		if outcomes[a.ApprovalID] != event.Cancelled {
			t.Errorf("outcomes %v", outcomes)
		}
		var late *approval.AnsweredError
		if _, err := w.Store().Approvals.Answer(t.Context(), a.ApprovalID, approval.Answer{Verdict: approval.ApproveOnce}); !errors.As(err, &late) {
			t.Errorf("an answer after the end: %v", err)
		}
	}
}

// TestRecoverCancelsApprovals: the questions of a killed process are cancelled, and the stream shows
// that before its end.
func TestRecoverCancelsApprovals(t *testing.T) {
	w := wait(t, nil, call("1", "touch", "x"))
	if _, err := w.Store().Recovery.Recover(t.Context()); err != nil { // as the next process would
		t.Fatal(err)
	}
	var types []string
	for _, ev := range w.events(w.session) {
		types = append(types, ev.Type())
	}
	if r, end := slices.Index(types, "tool_approval_resolved"), slices.Index(types, "session_end"); r < 0 || r > end {
		t.Errorf("the stream: %v", types)
	}
	if pending, err := w.Store().Approvals.Pending(t.Context()); err != nil || len(pending) > 0 {
		t.Errorf("%d approvals wait, %v", len(pending), err)
	}
	w.cancel()
	if out := <-w.out; out.Err == nil {
		t.Errorf("the session that was taken away: %+v", out)
	}
}

// TestApproverLearns: who is asked at hand learns that the answer has come from
// elsewhere.
func TestApproverLearns(t *testing.T) {
	asked, left := make(chan string, 1), make(chan struct{})
	approver := approval.ApproverFunc(func(ctx context.Context, req *approval.Approval) (approval.Answer, error) {
		asked <- req.ID
		<-ctx.Done()
		close(left)
		return approval.Answer{}, ctx.Err()
	})
	e := newEnv(t, turns{calls(call("1", "touch", "x")), say("ok")}, func(o *session.Options) { o.Approver = approver })
	e.static.rules = permission.MustRuleset(rule("*", "*", permission.Ask))
	s := e.open(session.Spec{Tools: []tool.Tool{echo("touch")}})
	out := make(chan session.Outcome, 1)
	go func() { out <- s.Prompt(t.Context(), "go") }()
	if _, err := e.Store().Approvals.Answer(t.Context(), <-asked, approval.Answer{Verdict: approval.ApproveOnce}); err != nil {
		t.Fatal(err)
	}
	<-left
	e.end(s, <-out)
}

// describing is a tool whose description is what a variable says.
type describing struct {
	*fakeTool
	text *atomic.Value
}

func (d describing) Describe(*tool.Call) tool.Description {
	return tool.Description{Title: "run it", Parts: []tool.Part{{Name: "script", Form: tool.Text, Text: d.text.Load().(string)}}}
}

// TestApprovedIsWhatRuns: a call that would do something else by the time it is approved is
// refused, and somebody is asked anew about the next.
func TestApprovedIsWhatRuns(t *testing.T) {
	var text atomic.Value
	text.Store("harmless")
	var asked []string
	approver := approval.ApproverFunc(func(_ context.Context, a *approval.Approval) (approval.Answer, error) {
		asked = append(asked, a.Question.Parts[0].Text)
		text.Store("harmful") // while the question is open
		return approval.Answer{Verdict: approval.ApproveOnce}, nil
	})
	ran := 0
	touch := describing{&fakeTool{"touch", func(context.Context, *tool.Call) (tool.Result, error) {
		ran++
		return tool.Result{Text: "ran"}, nil
	}}, &text}
	e := newEnv(t, turns{calls(call("1", "touch", "x")), calls(call("2", "touch", "x")), say("ok")}, func(o *session.Options) { o.Approver = approver })
	e.static.rules = permission.MustRuleset(rule("*", "*", permission.Ask))
	s := e.open(session.Spec{Tools: []tool.Tool{touch}})
	e.end(s, s.Prompt(t.Context(), "go"))
	if !slices.Equal(asked, []string{"harmless", "harmful"}) || ran != 1 {
		t.Errorf("asked about %q, ran %d times", asked, ran)
	}
}

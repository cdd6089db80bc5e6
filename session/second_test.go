//go:build unix

package session_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/policy/policytest"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

const twoPeople = `{"secondPerson": {"touch": {"prod*": "ask", "prod-test": "allow"}}}`

// allowed are rules that allow all.
var allowed = permission.MustRuleset(rule("*", "*", permission.Allow))

// asked is a session that was begun by somebody, whose call waits.
type asked struct {
	*env
	session  *session.Session
	approval *approval.Approval
	out      chan session.Outcome
	result   chan string // what the model is told of the call
}

// askAs begins a session for somebody, up to where its call waits.
func askAs(t *testing.T, by record.Person, change func(*session.Options)) *asked {
	t.Helper()
	a := &asked{out: make(chan session.Outcome, 1), result: make(chan string, 1)}
	a.env = newEnv(t, turns{calls(call("1", "touch", "prod/db")), func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		a.result <- req.Messages[len(req.Messages)-1].ToolResults[0].Text
		say("ok")(ctx, req, yield)
	}}, func(o *session.Options) {
		o.Policy, _ = policytest.Open(t, twoPeople)
		if change != nil {
			change(o)
		}
	})
	a.static.rules = allowed
	a.session = a.open(session.Spec{AskedBy: by, Tools: []tool.Tool{echo("touch")}, Rules: allowed})
	go func() { a.out <- a.session.Prompt(t.Context(), "go") }()
	for d, err := range a.bus.Follow(t.Context(), a.session.Path(), &eventbus.FollowOptions{Live: true}) {
		if err != nil {
			t.Fatal(err)
		}
		ev, err := event.Decode(d.Raw)
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case event.ToolApprovalRequired:
			if !ev.SecondPerson {
				t.Error("the event does not say that it takes a second person")
			}
			if a.approval, err = a.Store().Approvals.Get(t.Context(), ev.ApprovalID); err != nil {
				t.Fatal(err)
			}
			return a
		case event.ToolCallEnd:
			return a
		}
	}
	t.Fatal("the stream has ended")
	return nil
}

// TestSecondPerson: who has begun the work does not approve it, nor does who can't be told
// apart from that, and the call waits on. Whoever may answer may deny. Rules, answers of the
// terminal and "always" change nothing.
func TestSecondPerson(t *testing.T) {
	alice, bob := record.TokenPerson("alice"), record.TokenPerson("bob")
	for _, by := range []record.Person{record.Owner, alice, record.Unknown, ""} {
		t.Run("begun by "+string(by), func(t *testing.T) {
			var log *audit.Log
			yes := &answers{answer: approval.Answer{Verdict: approval.ApproveOnce, By: "the terminal"}}
			a := askAs(t, by, func(o *session.Options) { o.Approver, log = yes, audited(t, o) })
			if !by.Named() { // nobody can approve it: it does not wait
				if text := <-a.result; a.approval != nil || !strings.Contains(text, "not known who has asked") {
					t.Errorf("the model is told %q", text)
				}
				a.end(a.session, <-a.out)
				return
			}
			if sp := a.approval.SecondPerson; sp == nil || !strings.Contains(sp.Rule, "policy.jsonc:1") || !slices.Equal(sp.AskedBy, []record.Person{by}) ||
				len(a.approval.AlwaysPatterns) > 0 || !strings.Contains(a.approval.Reason, by.String()) {
				t.Errorf("what waits: %+v", a.approval)
			}
			for _, p := range []record.Person{by, record.Unknown, "", record.NoPerson, record.TheRules, "token:"} {
				refused := (*approval.SecondPersonError)(nil)
				if _, err := a.Store().Approvals.Answer(t.Context(), a.approval.ID, approval.Answer{Verdict: approval.ApproveOnce, As: p}); !errors.As(err, &refused) || !strings.Contains(err.Error(), "named token") {
					t.Errorf("%q approves: %v", p, err)
				}
			}
			if now, err := a.Store().Approvals.Get(t.Context(), a.approval.ID); err != nil || !now.Pending() {
				t.Fatalf("after refused answers: %+v, %v", now, err)
			}
			answered, err := a.Store().Approvals.Answer(t.Context(), a.approval.ID, approval.Answer{Verdict: approval.ApproveOnce, By: "bob's client", As: bob})
			if err != nil || answered.AnsweredAs != bob {
				t.Fatalf("a second person approves: %+v, %v", answered, err)
			}
			if text := <-a.result; !strings.HasPrefix(text, "touch {") {
				t.Errorf("the model is told %q", text)
			}
			a.end(a.session, <-a.out)
			if len(yes.asked) > 0 {
				t.Error("who sits at the worker was asked")
			}
			page, err := log.Page(t.Context(), &audit.Filter{Kind: string(audit.Answer)}, 10, "")
			if err != nil || len(page.Records) != 1 || page.Records[0].By != "bob's client" || !slices.Equal(page.Records[0].AskedBy, []string{string(by)}) {
				t.Errorf("the audit log has %+v, %v", page.Records, err)
			}
		})
	}
	t.Run("denied by the first", func(t *testing.T) {
		a := askAs(t, record.Owner, nil)
		if _, err := a.Store().Approvals.Answer(t.Context(), a.approval.ID, approval.Answer{Feedback: "later", As: record.Owner}); err != nil {
			t.Error(err)
		}
		if text := <-a.result; !strings.Contains(text, "later") {
			t.Errorf("the model is told %q", text)
		}
		a.end(a.session, <-a.out)
	})
	t.Run("unattended", func(t *testing.T) {
		a := askAs(t, record.Owner, func(o *session.Options) { o.Unattended = true })
		if text := <-a.result; a.approval != nil || !strings.Contains(text, "No second person can answer here") {
			t.Errorf("the model is told %q", text)
		}
		a.end(a.session, <-a.out)
	})
}

// TestSecondPersonHasNotSent: a person sends a message to a session while its call waits, or
// resumes it. Then this person has asked for the work too, and the log has it.
func TestSecondPersonHasNotSent(t *testing.T) {
	bob := record.TokenPerson("bob")
	a := askAs(t, record.Owner, nil)
	a.session.AskedFor(bob)
	if _, err := a.Store().Approvals.Answer(t.Context(), a.approval.ID, approval.Answer{Verdict: approval.ApproveOnce, As: bob}); err != nil {
		t.Fatal(err)
	}
	if text := <-a.result; !strings.Contains(text, `the token "bob" may not approve this call`) {
		t.Errorf("the model is told %q", text)
	}
	a.end(a.session, <-a.out)
	state, err := a.Store().Index.State(t.Context(), a.session.Path())
	if want := []record.Person{record.Owner, bob}; err != nil || !slices.Equal(state.Record.AskedBy, want) || !slices.Equal(a.session.Record().AskedBy, want) {
		t.Errorf("asked by %v, the log says %v, %v", a.session.Record().AskedBy, state.Record.AskedBy, err)
	}
	next := a.open(session.Spec{AskedBy: record.TokenPerson("carol"), Resumes: &session.Resumed{ID: a.session.ID(), Path: a.session.Path()}})
	if got := next.Record().AskedBy; !slices.Equal(got, []record.Person{record.TokenPerson("carol"), record.Owner, bob}) {
		t.Errorf("the next run is asked by %v", got)
	}
	if err := next.End(record.Completed, nil); err != nil {
		t.Error(err)
	}
}

package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/tool"
)

// answers is an approver that gives the same answer to all and keeps the
// requests.
type answers struct {
	answer session.Answer
	err    error
	mu     sync.Mutex
	asked  []*session.ApprovalRequest
}

func (a *answers) Approve(_ context.Context, req *session.ApprovalRequest) (session.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, req)
	return a.answer, a.err
}

func TestGate(t *testing.T) {
	all := func(action permission.Action) []permission.Rule { return []permission.Rule{rule("*", "*", action)} }
	yes := &answers{answer: session.Answer{Verdict: session.ApproveOnce}}
	tests := []struct {
		name     string
		parent   []permission.Rule
		agent    []permission.Rule
		static   []permission.Rule
		approver session.Approver
		runs     bool
		text     string // in the tool's result
	}{
		{name: "allowed", agent: all(permission.Allow), static: all(permission.Allow), runs: true},
		{name: "denied by the agent", agent: all(permission.Deny), static: all(permission.Allow), approver: yes, text: "rules:1"},
		{name: "denied by a static rule", agent: all(permission.Allow), static: all(permission.Deny), approver: yes, text: "rules:1"},
		{name: "denied for the value", agent: []permission.Rule{rule("*", "*", permission.Allow), rule("touch", "*.env", permission.Deny)}, static: all(permission.Allow), text: ".env"},
		{name: "denied by the parent", parent: all(permission.Deny), agent: all(permission.Allow), static: all(permission.Allow), approver: yes, text: "rules:1"},
		{name: "asked by the parent", parent: all(permission.Ask), agent: all(permission.Allow), text: "Nobody can answer"},
		{name: "asked, nobody there", agent: all(permission.Allow), static: all(permission.Ask), text: `add to permissions.jsonc: "touch": {`},
		{name: "no rule at all", text: "Nobody can answer"},
		{name: "asked, approved", static: all(permission.Ask), approver: yes, runs: true},
		{name: "asked, denied", static: all(permission.Ask), approver: &answers{}, text: "The user denied touch."},
		{name: "asked, denied with a reason", static: all(permission.Ask), approver: &answers{answer: session.Answer{Feedback: "use the copy"}}, text: "The user denied touch: use the copy"},
		{name: "asked, no answer", static: all(permission.Ask), approver: &answers{answer: session.Answer{Verdict: session.ApproveOnce}, err: errors.New("the terminal was closed")}, text: "the terminal was closed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ran := false
			touch := &fakeTool{"touch", func(context.Context, *tool.Call) (tool.Result, error) {
				ran = true
				return tool.Result{Text: "touched"}, nil
			}}
			var result model.ToolResult
			m := turns{calls(call("1", "touch", "dir/.env")), func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
				result = req.Messages[len(req.Messages)-1].ToolResults[0]
				say("ok")(ctx, req, yield)
			}}
			e := newEnv(t, m, func(o *session.Options) { o.Approver, o.Unattended = tt.approver, tt.approver == nil })
			e.static.rules = permission.MustRuleset(tt.static...)
			var parent *session.Session
			if tt.parent != nil {
				parent = e.open(session.Spec{Agent: "parent", Rules: permission.MustRuleset(tt.parent...)})
			}
			s := e.open(session.Spec{Parent: parent, Tools: []tool.Tool{touch}, Rules: permission.MustRuleset(tt.agent...)})
			e.end(s, s.Prompt(t.Context(), "go"))
			if ran != tt.runs || result.IsError == tt.runs || !strings.Contains(result.Text, tt.text) {
				t.Errorf("ran %v, result %+v, want ran %v with %q", ran, result, tt.runs, tt.text)
			}
			asked, resolved := 0, 0
			for _, ev := range e.events(s) {
				switch ev.(type) {
				case event.ToolApprovalRequired:
					asked++
				case event.ToolApprovalResolved:
					resolved++
				}
			}
			if asked != resolved {
				t.Errorf("%d approvals were asked for, %d resolved", asked, resolved)
			}
		})
	}
}

// TestAlways: an "always" counts for the rest of the session, and is handed to
// the static rules.
func TestAlways(t *testing.T) {
	approver := &answers{answer: session.Answer{Verdict: session.ApproveAlways}}
	m := turns{
		calls(call("1", "touch", "a file")), calls(call("2", "touch", "a file")), calls(call("3", "touch", "another")), say("ok"),
	}
	e := newEnv(t, m, func(o *session.Options) { o.Approver = approver })
	e.static.rules = permission.MustRuleset(rule("*", "*", permission.Ask))
	s := e.open(session.Spec{Tools: []tool.Tool{echo("touch")}})
	e.end(s, s.Prompt(t.Context(), "go"))
	var asked []string
	for _, req := range approver.asked {
		asked = append(asked, req.Patterns...)
		if !slices.Equal(req.Patterns, req.AlwaysPatterns) || req.SessionID != s.ID() || req.Agent != "agent" || req.Tool != "touch" {
			t.Errorf("request %+v", req)
		}
	}
	if fmt.Sprint(asked) != "[a file another]" || fmt.Sprint(e.static.added) != "[touch a file touch another]" {
		t.Errorf("asked %v, added %v", asked, e.static.added)
	}
}

// TestWaitingIsNotRunning: while a call waits for an answer, the record says so
// and the time limit stands still.
func TestWaitingIsNotRunning(t *testing.T) {
	var e *env
	var s *session.Session
	approver := session.ApproverFunc(func(ctx context.Context, req *session.ApprovalRequest) (session.Answer, error) {
		if r, err := e.Store().Get(ctx, s.ID()); err != nil || r.Status != session.WaitingApproval {
			t.Errorf("while waiting: %+v, %v", r, err)
		}
		return session.Answer{Verdict: session.ApproveOnce}, nil
	})
	e = newEnv(t, turns{calls(call("1", "a", "x"), call("2", "a", "y")), say("ok")}, func(o *session.Options) { o.Approver = approver })
	e.static.rules = permission.MustRuleset(rule("*", "*", permission.Ask))
	s = e.open(session.Spec{Tools: []tool.Tool{echo("a")}})
	out := s.Prompt(t.Context(), "go")
	if r := s.Record(); r.Status != session.Running || out.Text != "ok" {
		t.Errorf("after the answer: %+v, %+v", r, out)
	}
	e.end(s, out)
}

func TestClockStandsStillWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, clock := session.StartClock(t.Context(), time.Minute)
		time.Sleep(40 * time.Second) // in the bubble: no time passes outside
		clock.Pause()
		clock.Pause() // a second call waits too
		time.Sleep(time.Hour)
		clock.Resume()
		time.Sleep(time.Hour)
		clock.Resume()
		resumed := time.Now()
		<-ctx.Done()
		if ran := time.Since(resumed); ran != 20*time.Second {
			t.Errorf("the clock ran for another %s, want 20s", ran)
		}
		clock.Stop()
	})
}

// TestReadable: what a search may show is what read_file is not denied.
func TestReadable(t *testing.T) {
	var got map[string]bool
	look := &fakeTool{"look", func(_ context.Context, call *tool.Call) (tool.Result, error) {
		got = make(map[string]bool)
		for _, path := range []string{"main.go", ".env", "a/b/.env", "../outside", "a\x00b"} {
			got[path] = call.Readable(path)
		}
		return tool.Result{Text: "ok"}, nil
	}}
	e := newEnv(t, turns{calls(call("1", "look", "x")), say("ok")}, nil)
	e.static.rules = permission.MustRuleset(rule("*", "*", permission.Allow), rule("read_file", "*.env", permission.Deny))
	s := e.open(session.Spec{Tools: []tool.Tool{look}})
	e.end(s, s.Prompt(t.Context(), "go"))
	if !got["main.go"] || got[".env"] || got["a/b/.env"] || got["a\x00b"] {
		t.Errorf("readable: %v", got)
	}
}

// TestCallerGate: a caller's own call passes the same gate.
func TestCallerGate(t *testing.T) {
	for _, tt := range []struct {
		static  permission.Action
		refused bool
	}{
		{permission.Allow, false}, {permission.Ask, false}, {permission.Deny, true},
	} {
		e := newEnv(t, turns{say("ok")}, nil)
		e.static.rules = permission.MustRuleset(rule("*", "*", tt.static))
		s, err := e.Open(t.Context(), session.Spec{Tools: []tool.Tool{echo("a")}, Approver: session.AlwaysYes})
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Call(t.Context(), "a", json.RawMessage(`{"v":"x"}`))
		if err != nil || res.Refused != tt.refused || res.IsError != tt.refused {
			t.Errorf("static %s: %+v, %v", tt.static, res, err)
		}
		e.end(s, session.Outcome{Status: session.Completed})
		got := types(e.events(s))
		if !strings.HasPrefix(got, "session_start =queued =executing_tool tool_call_start ") || !strings.HasSuffix(got, "tool_call_end turn_complete =idle session_end") {
			t.Errorf("static %s: events %s", tt.static, got)
		}
	}
}

package session_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

func TestEnds(t *testing.T) {
	boom := &fakeTool{"boom", func(context.Context, *tool.Call) (tool.Result, error) { panic("boom") }}
	broken := &fakeTool{"broken", func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Result{}, errors.New("it is broken")
	}}
	stuck := &fakeTool{"stuck", func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}}
	tools := []tool.Tool{boom, broken, stuck, echo("a")}
	result := func(want string) func(context.Context, *model.Request, func(model.Part, error) bool) {
		return func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
			r := req.Messages[len(req.Messages)-1].ToolResults[0]
			if !r.IsError || !strings.Contains(r.Text, want) {
				say(fmt.Sprintf("got %+v, want an error with %q", r, want))(ctx, req, yield)
				return
			}
			say("fine")(ctx, req, yield)
		}
	}
	tests := []struct {
		name      string
		model     turns
		limit     time.Duration // of the session; 0 means none that is reached, here and below
		modelCall time.Duration
		toolCall  time.Duration
		status    record.Status
		text      string // of the answer or the error
		code      string // of the error event
		reason    event.StopReason
	}{
		{name: "a tool's error", model: turns{calls(call("1", "broken", "x")), result("it is broken")}, status: record.Completed, text: "fine", reason: event.StopAnswered},
		{name: "a tool's panic", model: turns{calls(call("1", "boom", "x")), result("internal error: boom")}, status: record.Completed, text: "fine", reason: event.StopAnswered},
		{name: "a tool's time limit", toolCall: 20 * time.Millisecond, model: turns{calls(call("1", "stuck", "x")), result("time limit of 20ms")}, status: record.Completed, text: "fine", reason: event.StopAnswered},
		{name: "an unknown tool", model: turns{calls(call("1", "nosuch", "x")), result("the tools are: boom, broken, stuck, a")}, status: record.Completed, text: "fine", reason: event.StopAnswered},
		{name: "arguments that are no JSON", model: turns{calls(model.ToolCall{ID: "1", Name: "a", Arguments: `{"v":`}), result("not a JSON object")}, status: record.Completed, text: "fine", reason: event.StopAnswered},
		{name: "arguments that are null", model: turns{calls(model.ToolCall{ID: "1", Name: "a", Arguments: `null`}), result("not a JSON object")}, status: record.Completed, text: "fine", reason: event.StopAnswered},
		{name: "arguments the tool refuses", model: turns{calls(model.ToolCall{ID: "1", Name: "a", Arguments: `{}`}), result("v is missing")}, status: record.Completed, text: "fine", reason: event.StopAnswered},
		{name: "a model error", model: turns{fail(&model.Error{Model: "m", Kind: model.ErrRateLimited, Message: "slow down", Status: 429})}, status: record.Failed, text: "slow down", code: "model_rate_limited"},
		{name: "no stop", model: turns{parts(model.TextDelta{Text: "x"})}, status: record.Failed, text: "without a stop reason", code: "model_protocol"},
		{name: "no answer", model: turns{parts(model.Stop{Reason: model.StopEnd})}, status: record.Failed, text: "without an answer", code: "failed"},
		{name: "a refusal", model: turns{parts(model.TextDelta{Text: "no."}, model.Stop{Reason: model.StopRefusal})}, status: record.Failed, text: "refused to answer: no.", code: "failed"},
		{name: "an answer cut off", model: turns{parts(model.TextDelta{Text: "so"}, model.Stop{Reason: model.StopMaxTokens})}, status: record.Completed, text: "so\n\n[The answer was cut off here", reason: event.StopLength},
		{name: "the model call's limit", modelCall: 50 * time.Millisecond, model: turns{hang}, status: record.Failed, text: "nothing came of the answer for 50ms", code: "model_timeout"},
		{name: "the session's limit in a model call", model: turns{hang}, limit: 5 * time.Millisecond, status: record.TimedOut, text: "time limit of 5ms", code: "timed_out", reason: event.StopTime},
		{name: "the session's limit in a tool", model: turns{calls(call("1", "stuck", "x")), say("no")}, limit: 5 * time.Millisecond, status: record.TimedOut, text: "time limit of 5ms", code: "timed_out", reason: event.StopTime},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := newEnv(t, tt.model, func(o *session.Options) {
				o.Limits = session.Limits{ModelCall: cmp.Or(tt.modelCall, time.Hour), ToolCall: cmp.Or(tt.toolCall, time.Hour)}
			})
			s := e.open(session.Spec{Tools: tools, TimeLimit: tt.limit})
			out := s.Prompt(t.Context(), "go")
			e.end(s, out)
			got := out.Text
			if out.Err != nil {
				got = out.Err.Error()
			}
			if out.Status != tt.status || !strings.Contains(got, tt.text) {
				t.Errorf("%s: %q, want %s: %q", out.Status, got, tt.status, tt.text)
			}
			code := ""
			events := e.events(s)
			for _, ev := range events {
				if ev, ok := ev.(event.Error); ok {
					code = ev.Code
				}
			}
			if code != tt.code {
				t.Errorf("error event %q, want %q", code, tt.code)
			}
			if last := events[len(events)-1]; last != event.Event(event.SessionEnd{Status: tt.status, StopReason: tt.reason}) {
				t.Errorf("the last event is %#v, want %s for %q", last, tt.status, tt.reason)
			}
		})
	}
}

// TestCancel: whatever the session is doing, the end of its context ends it.
func TestCancel(t *testing.T) {
	started := make(chan struct{}, 1)
	slow := func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		started <- struct{}{}
		hang(ctx, req, yield)
	}
	stuck := &fakeTool{"stuck", func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		started <- struct{}{}
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}}
	asked := approval.ApproverFunc(func(ctx context.Context, _ *approval.Approval) (approval.Answer, error) {
		started <- struct{}{}
		<-ctx.Done()
		return approval.Answer{}, ctx.Err()
	})
	for name, tt := range map[string]struct {
		model turns
		rules permission.Action
	}{
		"streaming":            {turns{slow}, permission.Allow},
		"executing a tool":     {turns{calls(call("1", "stuck", "x")), say("no")}, permission.Allow},
		"waiting for approval": {turns{calls(call("1", "stuck", "x")), say("no")}, permission.Ask},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, tt.model, func(o *session.Options) { o.Approver = asked })
			e.static.rules = permission.MustRuleset(rule("*", "*", tt.rules))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := e.open(session.Spec{Tools: []tool.Tool{stuck}})
			ended := make(chan session.Outcome)
			go func() { ended <- s.Prompt(ctx, "go") }()
			<-started
			cancel()
			out := <-ended
			e.end(s, out)
			if out.Status != record.Cancelled {
				t.Errorf("outcome %+v", out)
			}
			if got := types(e.events(s)); !strings.HasSuffix(got, "=aborted session_end") {
				t.Errorf("events %s", got)
			}
		})
	}
}

func TestEndedStaysEnded(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	s := e.open(session.Spec{Agent: "a", Tools: []tool.Tool{echo("a")}})
	if _, live := e.Live(s.ID()); !live {
		t.Error("the session is not live")
	}
	e.end(s, session.Outcome{Status: record.Completed})
	if _, live := e.Live(s.ID()); live {
		t.Error("the session is live after its end")
	}
	if err := s.End(record.Failed, nil); !errors.Is(err, record.ErrEnded) {
		t.Errorf("a second end: %v", err)
	}
	if out := s.Prompt(t.Context(), "go"); out.Status != record.Failed || !errors.Is(out.Err, record.ErrEnded) {
		t.Errorf("a prompt after the end: %+v", out)
	}
	if _, err := s.Call(t.Context(), "a", json.RawMessage(`{"v":"x"}`)); !errors.Is(err, record.ErrEnded) {
		t.Errorf("a call after the end: %v", err)
	}
	if got := types(e.events(s)); got != "session_start =queued session_end" {
		t.Errorf("events %s", got)
	}
}

// TestBrokenStore: a session whose events can't be stored fails, and reports that.
func TestBrokenStore(t *testing.T) {
	var e *env
	breaks := &fakeTool{"breaks", func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Result{Text: "closed"}, e.bus.Close()
	}}
	e = newEnv(t, turns{calls(call("1", "breaks", "x")), say("done")}, nil)
	s := e.open(session.Spec{Tools: []tool.Tool{breaks}})
	out := s.Prompt(t.Context(), "go")
	if out.Status != record.Failed || out.Err == nil {
		t.Errorf("outcome %+v", out)
	}
	if err := s.End(out.Status, out.Err); err == nil {
		t.Error("the end was stored in a closed store")
	}
}

func TestRecover(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	root := e.open(session.Spec{Agent: "primary"})
	child := e.open(session.Spec{Agent: "explore", Parent: root})
	done := e.open(session.Spec{Agent: "explore", Parent: root})
	e.end(done, done.Prompt(t.Context(), "go"))

	// What a killed process leaves: records that never reached their end.
	n, err := e.Store().Recovery.Recover(t.Context())
	if err != nil || n != 2 {
		t.Fatalf("Recover: %d sessions, %v, want 2", n, err)
	}
	for _, s := range []*session.Session{root, child} {
		r, err := e.Store().Index.Get(t.Context(), s.ID())
		if err != nil || r.Status != record.Interrupted || r.Error == "" || r.EndedAt.IsZero() {
			t.Errorf("after recovery: %+v, %v", r, err)
		}
		if err := s.End(record.Completed, nil); err == nil {
			t.Error("an interrupted session was completed")
		}
	}
	events := e.events(root)
	last := events[len(events)-1]
	if last != event.Event(event.SessionEnd{Status: "interrupted", StopReason: event.StopStopped}) {
		t.Errorf("the root's last event is %#v", last)
	}
	ends := 0
	for _, ev := range events {
		if env, ok := ev.(event.SubagentEvent); ok && env.SessionID == child.ID() && string(env.Event) == `{"type":"session_end","status":"interrupted","stopReason":"stopped"}` {
			ends++
		}
	}
	if ends != 1 {
		t.Errorf("the root's stream shows %d ends of the child, want 1", ends)
	}
	if n, err := e.Store().Recovery.Recover(t.Context()); n != 0 || err != nil {
		t.Errorf("a second Recover: %d, %v", n, err)
	}
}

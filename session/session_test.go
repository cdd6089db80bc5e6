package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

func TestTurn(t *testing.T) {
	var seen *model.Request
	m := turns{
		calls(call("1", "a", "x"), call("2", "b", "y")),
		func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
			seen = req
			say("done")(ctx, req, yield)
		},
	}
	e := newEnv(t, m, nil)
	s := e.open(session.Spec{System: "be good", Tools: []tool.Tool{echo("a"), echo("b")}})
	out := s.Prompt(t.Context(), "go")
	e.end(s, out)
	if out.Status != record.Completed || out.Text != "done" || out.Err != nil {
		t.Fatalf("outcome %+v", out)
	}
	want := []model.Message{
		{Role: model.User, Text: "go"},
		{Role: model.Assistant, ToolCalls: []model.ToolCall{call("1", "a", "x"), call("2", "b", "y")}},
		{Role: model.User, ToolResults: []model.ToolResult{
			{ToolCallID: "1", Text: `a {"v":"x"}`}, {ToolCallID: "2", Text: `b {"v":"y"}`},
		}},
	}
	if got := fmt.Sprint(seen.Messages); got != fmt.Sprint(want) || seen.System != "be good" || len(seen.Tools) != 2 {
		t.Errorf("the second call got %s\nwant %v", got, want)
	}
	stored, err := e.Store().Transcripts.Messages(t.Context(), s.ID())
	if err != nil || len(stored) != 4 || stored[3].Text != "done" {
		t.Errorf("stored messages: %d, %v", len(stored), err)
	}
	got := types(e.events(s))
	wantEvents := "session_start =queued =streaming usage =executing_tool tool_call_start tool_call_start " +
		"tool_call_end tool_call_end =streaming content_delta usage =idle turn_complete session_end"
	if got != wantEvents {
		t.Errorf("events:\n%s\nwant:\n%s", got, wantEvents)
	}
	r, err := e.Store().Index.Get(t.Context(), s.ID())
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != record.Completed || r.Steps != 2 || r.Usage.InputTokens != 15 || r.Usage.OutputTokens != 3 ||
		r.StartedAt.IsZero() || r.EndedAt.Before(r.StartedAt) || r.BootID == "" {
		t.Errorf("record %+v", r)
	}
}

func TestToolsRunSideBySide(t *testing.T) {
	const n = 5
	var all sync.WaitGroup
	all.Add(n)
	meet := &fakeTool{"meet", func(context.Context, *tool.Call) (tool.Result, error) {
		all.Done()
		all.Wait() // returns only once all n run
		return tool.Result{Text: "met"}, nil
	}}
	var step []model.ToolCall
	for i := range n {
		step = append(step, call(fmt.Sprint(i), "meet", "x"))
	}
	e := newEnv(t, turns{calls(step...), say("ok")}, nil)
	s := e.open(session.Spec{Tools: []tool.Tool{meet}})
	out := s.Prompt(t.Context(), "go")
	e.end(s, out)
	if out.Text != "ok" {
		t.Errorf("outcome %+v", out)
	}
}

func TestStepsUsedUp(t *testing.T) {
	var last *model.Request
	again := 0
	m := turns{func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		last = req
		if req.NoToolCalls {
			say("that is all I have")(ctx, req, yield)
			return
		}
		again++
		calls(call("same", "a", "x"))(ctx, req, yield) // an id used again
	}}
	e := newEnv(t, m, nil)
	s := e.open(session.Spec{Tools: []tool.Tool{echo("a")}, MaxSteps: 3})
	out := s.Prompt(t.Context(), "go")
	e.end(s, out)
	if out.Text != "that is all I have" || again != 3 {
		t.Fatalf("after %d steps: %+v", again, out)
	}
	final := last.Messages[len(last.Messages)-1]
	if !strings.Contains(final.Text, "Conclude now") || len(final.ToolResults) != 1 || len(last.Tools) != 1 {
		t.Errorf("the last request ends in %+v", final)
	}
	ids := make(map[string]bool)
	for _, ev := range e.events(s) {
		if start, ok := ev.(event.ToolCallStart); ok {
			if ids[start.ToolCallID] {
				t.Errorf("two calls have the id %s", start.ToolCallID)
			}
			ids[start.ToolCallID] = true
		}
	}
}

// TestRetry: a second try of a model call is published, with the wait.
func TestRetry(t *testing.T) {
	again := parts(model.Retry{Reason: model.ErrRateLimited, Try: 2, Tries: 3, Wait: 45 * time.Second},
		model.TextDelta{Text: "at last"}, model.Stop{Reason: model.StopEnd})
	e := newEnv(t, turns{again}, nil)
	s := e.open(session.Spec{})
	e.end(s, s.Prompt(t.Context(), "go"))
	for _, ev := range e.events(s) {
		if ev, ok := ev.(event.StatusChange); ok && ev.Retry != nil {
			if want := (event.Retry{Reason: "rate_limited", Try: 2, Tries: 3, DelayMs: 45_000}); *ev.Retry != want || ev.Status != event.StatusStreaming {
				t.Errorf("got %s %+v, want %+v", ev.Status, *ev.Retry, want)
			}
			return
		}
	}
	t.Error("no event tells of the retry")
}

func TestStoreGet(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	a, b := e.open(session.Spec{}), e.open(session.Spec{})
	if r, err := e.Store().Index.Get(t.Context(), a.ID()[:10]); err != nil || r.ID != a.ID() {
		t.Errorf("by the start of its id: %v, %v", r, err)
	}
	if _, err := e.Store().Index.Get(t.Context(), "ses_"); err == nil || !strings.Contains(err.Error(), "give more") {
		t.Errorf("by a start that two ids have: %v", err)
	}
	for _, id := range []string{"", "nope", "a.b", "*", ">", "a b"} {
		if r, err := e.Store().Index.Get(t.Context(), id); !errors.Is(err, record.ErrNotFound) {
			t.Errorf("Get(%q) = %v, %v, want ErrNotFound", id, r, err)
		}
	}
	records, err := e.Store().Index.List(t.Context())
	if err != nil || len(records) != 2 || records[0].ID != b.ID() {
		t.Errorf("List: %d records, %v", len(records), err)
	}
	records[0].Schema = 99
	data, err := json.Marshal(records[0])
	if err != nil {
		t.Fatal(err)
	}
	kv, err := e.bus.JetStream().KeyValue(t.Context(), "AGENT_SESSIONS")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Put(t.Context(), "ws."+b.ID(), data); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Store().Index.Get(t.Context(), b.ID()); err == nil || !strings.Contains(err.Error(), "another version of the worker (schema 99, this one reads 1)") {
		t.Errorf("a record of schema 99: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	if _, err := e.Open(t.Context(), session.Spec{Tools: []tool.Tool{echo("a"), echo("a")}}); err == nil {
		t.Error("two tools of one name were accepted")
	}
}

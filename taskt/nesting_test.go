package taskt_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/taskt"
)

func TestNoNesting(t *testing.T) {
	var offered []string
	var result model.ToolResult
	m := modelFunc(func(_ context.Context, req *model.Request, yield func(model.Part) bool) error {
		for _, spec := range req.Tools {
			offered = append(offered, spec.Name)
		}
		if _, n := prompt(req); n == 0 { // it tries although the tool is not offered
			_ = yield(model.ToolCall{ID: "1", Name: "task", Arguments: `{"description":"d","prompt":"p","agentType":"explore"}`}) &&
				yield(model.Stop{Reason: model.StopToolCalls})
			return nil
		}
		result = req.Messages[2].ToolResults[0]
		return answer("ok")(t.Context(), req, yield)
	})
	e := newEnv(t, m, taskt.Limits{}, nil)
	res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "general"})
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	if slices.Contains(offered, "task") || !result.IsError || !strings.Contains(result.Text, "task") {
		t.Errorf("offered %v, result %+v", offered, result)
	}
	records, err := e.sessions.Store().Index.List(t.Context())
	if err != nil || len(records) != 2 {
		t.Errorf("%d sessions, %v, want the root and its child", len(records), err)
	}
}

// TestNesting: with a depth of 3 agents nest 3 deep and no deeper, and the
// root's stream shows all of them. They are all part of the trace of the call.
func TestNesting(t *testing.T) {
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		if _, n := prompt(req); n == 0 {
			_ = yield(model.ToolCall{ID: "1", Name: "task", Arguments: `{"description":"d","prompt":"p","agentType":"general"}`}) &&
				yield(model.Stop{Reason: model.StopToolCalls})
			return nil
		}
		return answer("after: "+req.Messages[2].ToolResults[0].Text)(ctx, req, yield)
	})
	e := newEnv(t, m, taskt.Limits{Depth: 3, Running: 1, PerParent: 1}, nil)
	res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "general", Traceparent: trace})
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	records, err := e.sessions.Store().Index.List(t.Context())
	if err != nil || len(records) != 4 || records[0].Depth != 3 {
		t.Fatalf("%d sessions, %v, want 4", len(records), err)
	}
	for _, r := range records {
		if want := map[bool]string{true: trace}[r.Depth > 0]; r.Traceparent != want {
			t.Errorf("the trace at depth %d: %q, want %q", r.Depth, r.Traceparent, want)
		}
	}
	if !strings.Contains(res.Text, "nesting limit") {
		t.Errorf("the deepest agent's refusal is not in the answer: %s", res.Text)
	}
	deepest := ""
	for _, d := range e.stream(t, e.root.Path()) {
		if strings.Count(string(d.Raw), `"type":"subagent_event"`) == 3 && strings.Contains(string(d.Raw), "session_end") {
			deepest = string(d.Raw)
		}
	}
	if deepest == "" {
		t.Error("the root's stream lacks the end of the session at depth 3")
	}
}

// TestNestingInBackground: the limit counts subagents in the background like others.
// One at the limit gets an error for its call, and goes on.
func TestNestingInBackground(t *testing.T) {
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		if _, n := prompt(req); n == 0 {
			_ = yield(model.ToolCall{ID: "1", Name: "task", Arguments: `{"description":"d","prompt":"p","agentType":"general","background":true}`}) &&
				yield(model.Stop{Reason: model.StopToolCalls})
			return nil
		}
		return answer("after: "+req.Messages[2].ToolResults[0].Text)(ctx, req, yield)
	})
	e := newEnv(t, m, taskt.Limits{Depth: 2}, nil)
	if res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "general"}); res.Err != nil {
		t.Fatal(res.Err)
	}
	records, err := e.sessions.Store().Index.List(t.Context())
	if err != nil || len(records) != 3 || records[0].Depth != 2 {
		t.Fatalf("%d sessions, %v, want 3", len(records), err)
	}
	last, err := e.sessions.Store().Transcripts.LastAnswer(t.Context(), records[0])
	if err != nil || !strings.Contains(last, "nesting limit") {
		t.Errorf("the deepest says %q, %v, want that its call was refused", last, err)
	}
}

package session_test

import (
	"context"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/tool"
)

// TestMeantTool: a name that a model has made up of a tool's runs the tool.
func TestMeantTool(t *testing.T) {
	ran := 0
	count := &fakeTool{"count", func(context.Context, *tool.Call) (tool.Result, error) {
		ran++
		return tool.Result{Text: "ok"}, nil
	}}
	e := newEnv(t, turns{calls(call("1", "functions.count", "x")), calls(call("2", "$nothing", "x")), func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		said := req.Messages[len(req.Messages)-1].ToolResults[0].Text
		say(said)(ctx, req, yield)
	}}, nil)
	s := e.open(session.Spec{Tools: []tool.Tool{count}})
	out := s.Prompt(t.Context(), "go")
	e.end(s, out)
	if ran != 1 || !strings.Contains(out.Text, `there is no tool "$nothing"`) {
		t.Errorf("%d calls ran: %+v", ran, out)
	}
}

// TestCutCall: a call that the output limit has cut is not run, and its model is told why.
func TestCutCall(t *testing.T) {
	e := newEnv(t, turns{
		parts(model.ToolCall{ID: "1", Name: "a", Arguments: `{"v": "hal`}, model.Usage{OutputTokens: 8192}, model.Stop{Reason: model.StopMaxTokens}),
		func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
			say(req.Messages[len(req.Messages)-1].ToolResults[0].Text)(ctx, req, yield)
		},
	}, nil)
	s := e.open(session.Spec{Tools: []tool.Tool{echo("a")}})
	out := s.Prompt(t.Context(), "go")
	e.end(s, out)
	if want := "your call of a was cut off at the output limit of 8192 tokens, and was not run: make it smaller, such as in several calls"; out.Text != want {
		t.Errorf("%+v, want %q", out, want)
	}
}

// TestWrongArguments: arguments that a tool does not take are an error of the call, and no
// denial by rules.
func TestWrongArguments(t *testing.T) {
	e := newEnv(t, turns{calls(model.ToolCall{ID: "1", Name: "a", Arguments: `{}`}), say("done")}, nil)
	s := e.open(session.Spec{Tools: []tool.Tool{echo("a")}})
	e.end(s, s.Prompt(t.Context(), "go"))
	if w := s.Record().Work; w.Failed != 1 || w.Denied != 0 {
		t.Errorf("work %+v", w)
	}
}

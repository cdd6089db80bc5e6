package session_test

import (
	"context"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/price"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/tool"
)

// named is a model with another name.
type named struct {
	name string
	model.Model
}

func (n named) Name() string { return n.name }

// TestLongestAnswer: an answer may be as long as the model's row says, and as the window has room
// for. A cut call names the limit that was asked for where the provider counts nothing.
func TestLongestAnswer(t *testing.T) {
	prices, err := price.Load("")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		model  string
		window int64
		prompt string
		least  int
		most   int
	}{
		{"anthropic/claude-opus-4-5", 200_000, "go", 64_000, 64_000},
		{"anthropic/claude-opus-4-5", 0, "go", 64_000, 64_000},
		{"anthropic/claude-opus-4-5", 50_000, "go", 49_000, 49_999},
		{"anthropic/claude-opus-4-5", 50_000, strings.Repeat("x", 80_000), 9_000, 9_999},
		{"anthropic/claude-opus-4-5", 50_000, strings.Repeat("x", 120_000), 1024, 1024},
		{"anthropic/unknown", 200_000, "go", 0, 0},
	} {
		var asked model.Request
		m := named{tt.model, modeltest.Func(func(_ context.Context, req *model.Request, yield func(model.Part) bool) error {
			asked = *req
			_ = yield(model.TextDelta{Text: "done"}) && yield(model.Stop{Reason: model.StopEnd})
			return nil
		})}
		e := newEnv(t, m, func(o *session.Options) {
			o.Prices = prices
			o.Window = func(string) int64 { return tt.window }
		})
		s := e.open(session.Spec{})
		e.end(s, s.Prompt(t.Context(), tt.prompt))
		if got := asked.LongestAnswer; got < tt.least || got > tt.most || asked.MaxOutputTokens != 0 {
			t.Errorf("%s with a window of %d and a prompt of %d bytes: %d tokens, want %d to %d", tt.model, tt.window, len(tt.prompt), got, tt.least, tt.most)
		}
	}
}

// TestCutCallUncounted: a call that was cut off names the limit that was asked for, where the
// provider counts nothing.
func TestCutCallUncounted(t *testing.T) {
	e := newEnv(t, turns{
		parts(model.ToolCall{ID: "1", Name: "a", Arguments: `{"v": "hal`}, model.Stop{Reason: model.StopMaxTokens}),
		func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
			say(req.Messages[len(req.Messages)-1].ToolResults[0].Text)(ctx, req, yield)
		},
	}, nil)
	s := e.open(session.Spec{Tools: []tool.Tool{echo("a")}, Params: session.Params{MaxOutputTokens: 77}})
	out := s.Prompt(t.Context(), "go")
	e.end(s, out)
	if want := "your call of a was cut off at the output limit of 77 tokens"; !strings.Contains(out.Text, want) {
		t.Errorf("%+v, want %q", out, want)
	}
}

package session_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

// TestTextless: an answer without text is asked for once more.
func TestTextless(t *testing.T) {
	end, cut := model.Stop{Reason: model.StopEnd}, model.Stop{Reason: model.StopMaxTokens}
	hm := model.Reasoning{Text: "hm"}
	for name, m := range map[string]turns{
		"nothing":                 missing(0, "Write your answer now", end),
		"reasoning alone":         missing(0, "Write your answer now", hm, end),
		"cut in its reasoning":    missing(0, "cut off at the output limit", hm, cut),
		"behind a call":           missing(1, "Write your answer now", end),
		"text that was reasoning": {parts(model.TextDelta{Text: "h"}, model.TextDelta{Text: "m"}, model.TextWasReasoning{}, model.TextDelta{Text: "so"}, end)},
	} {
		e := newEnv(t, m, nil)
		s := e.open(session.Spec{Tools: []tool.Tool{echo("a")}})
		out := s.Prompt(t.Context(), "go")
		e.end(s, out)
		if out.Status != record.Completed || out.Text != "so" {
			t.Errorf("%s: got %+v, want the text so", name, out)
		}
	}
}

// missing is a model that answers with parts without text, and with "so" once it is told what is wrong. It
// has made the calls of so many steps before.
func missing(steps int, told string, without ...model.Part) turns {
	var all turns
	for i := range steps {
		all = append(all, calls(call(strconv.Itoa(i), "a", strconv.Itoa(i))))
	}
	return append(all, func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		if strings.Contains(req.Messages[len(req.Messages)-1].Text, told) {
			say("so")(ctx, req, yield)
			return
		}
		parts(without...)(ctx, req, yield)
	})
}

// TestLastStep: a model that calls tools although its steps are used up is told to answer, once.
func TestLastStep(t *testing.T) {
	calling := []model.Part{call("x", "a", "x"), model.Stop{Reason: model.StopToolCalls}}
	for _, model := range []turns{missing(2, "No tool can be called any more. Write", calling...), missing(2, "never told", calling...)} {
		e := newEnv(t, model, nil)
		s := e.open(session.Spec{Tools: []tool.Tool{echo("a")}, MaxSteps: 2})
		out := s.Prompt(t.Context(), "go")
		e.end(s, out)
		if told := out.Err == nil; told != (out.Text == "so") || !told && !strings.Contains(out.Err.Error(), "without an answer") {
			t.Errorf("got %+v", out)
		}
	}
}

package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

// TestRepeatedCall has a model make the same call again and again: the third in a
// row is an error and does not run, the fourth ends the session.
func TestRepeatedCall(t *testing.T) {
	same := []string{`{"v":"x","n":[1,{"b":2,"a":1.0}]}`, ` {"n": [1e0, {"a":1,"b":2}], "v":"x"}`, `{"v":"\u0078","n":[1.0,{"a":1,"b":2}]}`}
	var m turns
	for i := range 6 {
		m = append(m, calls(model.ToolCall{ID: fmt.Sprint(i), Name: "a", Arguments: same[i%len(same)]}))
	}
	ran := 0
	count := &fakeTool{"a", func(context.Context, *tool.Call) (tool.Result, error) {
		ran++
		return tool.Result{Text: "ok"}, nil
	}}
	e := newEnv(t, m, nil)
	s := e.open(session.Spec{Tools: []tool.Tool{count}, MaxSteps: 20})
	out := s.Prompt(t.Context(), "go")
	e.end(s, out)
	repeated, ok := errors.AsType[*session.RepeatedCallError](out.Err)
	if !ok || out.Status != record.Failed || repeated.Tool != "a" || repeated.Times != 4 || ran != 2 {
		t.Fatalf("after %d calls that ran: %+v", ran, out)
	}
	if !strings.Contains(out.Err.Error(), `a {"v":"x","n":[1,{"b":2,"a":1.0}]} 4 times in a row`) {
		t.Errorf("the error does not name the call: %v", out.Err)
	}
	messages, err := e.Store().Transcripts.Messages(t.Context(), s.ID())
	if err != nil || len(messages) != 9 {
		t.Fatalf("%d messages, %v", len(messages), err)
	}
	for at, want := range map[int]string{4: "ok", 6: "for the third time in a row", 8: "That ends your task."} {
		if got := messages[at].ToolResults[0]; !strings.Contains(got.Text, want) || got.IsError != (want != "ok") {
			t.Errorf("message %d: %+v, want %q", at, got, want)
		}
	}
}

// TestOtherResults has a model make the same call, whose result is another one each time, as
// one does that waits for a build. Where the result stays the same, it goes round in circles.
func TestOtherResults(t *testing.T) {
	for name, tt := range map[string]struct {
		results []string
		ran     int
		ends    bool
	}{
		"another one each time":  {[]string{"1", "2", "3", "4", "5", "6"}, 6, false},
		"two, then another":      {[]string{"1", "1", "2", "2"}, 2, true},
		"to and fro":             {[]string{"1", "2", "1", "2", "1", "2"}, 6, false},
		"it changes, then stops": {[]string{"1", "2", "3", "3", "3", "3"}, 4, true},
	} {
		t.Run(name, func(t *testing.T) {
			var m turns
			for i := range tt.results {
				m = append(m, calls(call(fmt.Sprint(i), "a", "x")))
			}
			ran := 0
			tells := &fakeTool{"a", func(context.Context, *tool.Call) (tool.Result, error) {
				ran++
				return tool.Result{Text: tt.results[ran-1]}, nil
			}}
			e := newEnv(t, append(m, say("done")), nil)
			s := e.open(session.Spec{Tools: []tool.Tool{tells}, MaxSteps: 20})
			out := s.Prompt(t.Context(), "go")
			e.end(s, out)
			if repeated := errors.As(out.Err, new(*session.RepeatedCallError)); repeated != tt.ends || ran != tt.ran {
				t.Errorf("%d calls ran: %+v, want %d", ran, out, tt.ran)
			}
		})
	}
}

// TestNotRepeated has calls that are alike, and are none that are repeated.
func TestNotRepeated(t *testing.T) {
	args := func(each ...string) (all [][]model.ToolCall) {
		for i, a := range each {
			all = append(all, []model.ToolCall{{ID: fmt.Sprint(i), Name: "a", Arguments: a}})
		}
		return all
	}
	one, other := call("1", "a", "x"), call("2", "b", "x")
	wait := model.ToolCall{ID: "3", Name: "wait", Arguments: `{"v":"x"}`}
	tests := map[string][][]model.ToolCall{
		"two, another, two":      {{one}, {one}, {other}, {one}, {one}, {other}},
		"side by side":           {{one, one, one, one, one}},
		"with another beside it": {{one}, {one, other}, {one}, {one, other}, {one}},
		"lists in another order": args(`{"v":[1,2]}`, `{"v":[2,1]}`, `{"v":[1,2]}`, `{"v":[2,1]}`),
		"text and number":        args(`{"v":1}`, `{"v":"1"}`, `{"v":1}`, `{"v":"1"}`),
		"large numbers":          args(`{"v":9007199254740993}`, `{"v":9007199254740992}`, `{"v":9007199254740993}`, `{"v":9007199254740994}`),
		"null and none":          args(`{"v":null}`, `{}`, `{"v":null}`, `{}`),
		"no JSON":                args(`{"v":`, `{"v"`, `{"v":`, `{"v"`),
		"what reads how others are": {
			{wait}, {wait}, {wait}, {wait}, {wait}, {wait},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			var m turns
			for _, step := range steps {
				m = append(m, calls(step...))
			}
			e := newEnv(t, append(m, say("done")), nil)
			s := e.open(session.Spec{Tools: []tool.Tool{echo("a"), echo("b"), &polling{echo("wait")}}, MaxSteps: 20})
			out := s.Prompt(t.Context(), "go")
			e.end(s, out)
			messages, err := e.Store().Transcripts.Messages(t.Context(), s.ID())
			if err != nil || out.Text != "done" {
				t.Fatalf("%+v, %v", out, err)
			}
			for _, m := range messages {
				for _, r := range m.ToolResults {
					if strings.Contains(r.Text, "in a row") {
						t.Errorf("%s", r.Text)
					}
				}
			}
		})
	}
}

// polling is a tool that reads how others are.
type polling struct{ *fakeTool }

func (p *polling) Spec() tool.Spec {
	spec := p.fakeTool.Spec()
	spec.Follows, spec.ReadOnly = "task", true
	return spec
}

func (*polling) Describe(call *tool.Call) tool.Description {
	return tool.DescribeArguments("call it", call.Args)
}

func (p *polling) Values(json.RawMessage) ([]permission.Value, error) { return nil, nil }

package replaymodel_test

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/replaymodel"
)

const choices = `
{"text": "first"}
{"text": "second"}
{"text": "third"}
{"match": {"system": "child"}, "text": "child first"}
{"match": {"system": "child"}, "text": "child second"}
{"match": {"user": "count"}, "text": "count first"}
{"match": {"user": "count"}, "text": "count later", "repeat": true}
{"match": {"user": "count", "system": "child"}, "text": "child counts"}
{"match": {"result": "denied"}, "text": "denied"}
{"match": {"noToolCalls": true}, "text": "summary"}
`

func TestTurn(t *testing.T) {
	user := func(text string) model.Message { return model.Message{Role: model.User, Text: text} }
	result := func(text string) model.Message {
		return model.Message{Role: model.User, ToolResults: []model.ToolResult{{Text: "x"}, {Text: text}}}
	}
	answer := model.Message{Role: model.Assistant, Text: "count"} // no user message
	script, err := replaymodel.Parse([]byte(choices))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name     string
		system   string
		messages []model.Message
		final    bool
		want     string // the text, or a part of the error
	}{
		{"the first answer", "", []model.Message{user("hello")}, false, "first"},
		{"the third answer", "", []model.Message{user("hello"), answer, result("ok"), answer, user("more")}, false, "third"},
		{"no turn left", "", []model.Message{user("a"), answer, user("b"), answer, user("c"), answer, user("d")}, false,
			"the script has no turn for answer 4 of the group with match {System: User: Result: Tool: NoToolCalls:false}"},
		{"the system prompt", "You are a child.", []model.Message{user("hello"), answer, result("ok")}, false, "child second"},
		{"a user message", "", []model.Message{user("please count")}, false, "count first"},
		{"a user message, later", "", []model.Message{user("please count"), answer, result("ok")}, false, "count later"},
		{"a user message, much later", "", []model.Message{user("count"), answer, result("ok"), answer, user("and"), answer, user("on")}, false, "count later"},
		{"the last such message counts", "", []model.Message{user("count"), answer, user("count again")}, false, "count first"},
		{"answers before it do not", "", []model.Message{user("hello"), answer, user("count")}, false, "count first"},
		{"more conditions win", "child", []model.Message{user("count")}, false, "child counts"},
		{"a result", "", []model.Message{user("count"), answer, result("it was denied")}, false, "denied"},
		{"a result, later", "", []model.Message{user("count"), answer, result("denied"), answer, user("more")}, false, "no turn for answer 2"},
		{"no tool calls", "child", []model.Message{user("count"), answer, result("denied")}, true, "summary"},
	} {
		turn, err := script.Turn(&model.Request{System: test.system, Messages: test.messages, NoToolCalls: test.final})
		got := turn.Text.String()
		if err != nil {
			got = err.Error()
		}
		if got != test.want && (err == nil || !strings.Contains(got, test.want)) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// TestToolOffered: a condition on what is offered, by name, description and
// schema.
func TestToolOffered(t *testing.T) {
	script, err := replaymodel.Parse([]byte(`{"text": "none"} {"match": {"tool": "\"helper\""}, "text": "offered"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		tool model.ToolSpec
		want string
	}{
		{model.ToolSpec{Name: "task", InputSchema: []byte(`{"enum":["explore","helper"]}`)}, "offered"},
		{model.ToolSpec{Name: "task", Description: `calls "helper"`}, "offered"},
		{model.ToolSpec{Name: `"helper"`}, "offered"},
		{model.ToolSpec{Name: "helper", InputSchema: []byte(`{"enum":["explore"]}`)}, "none"},
	} {
		turn, err := script.Turn(&model.Request{
			Tools: []model.ToolSpec{{Name: "other"}, test.tool}, Messages: []model.Message{{Role: model.User, Text: "hello"}},
		})
		if got := turn.Text.String(); err != nil || got != test.want {
			t.Errorf("%+v: got %q, %v, want %q", test.tool, got, err, test.want)
		}
	}
}

func TestNoTurnFits(t *testing.T) {
	script := replaymodel.Script{{Match: replaymodel.Match{User: "hello"}}}
	_, err := script.Turn(&model.Request{
		System: "You are a test.", Messages: []model.Message{{Role: model.User, Text: strings.Repeat("good bye ", 20)}},
	})
	const want = `no turn whose match fits the request (system prompt "You are a test.", last text "good bye `
	if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 250 {
		t.Errorf("got %v, want %q and an excerpt", err, want)
	}
}

// TestFilledIn: what a turn leaves out is filled in, and the script does not change.
func TestFilledIn(t *testing.T) {
	script := replaymodel.Script{{ToolCalls: []replaymodel.ToolCall{{Name: "a"}, {ID: "mine", Name: "a"}, {Name: "a"}}, Repeat: true}}
	ids := make(map[string]bool)
	var messages []model.Message
	for range 3 {
		messages = append(messages, model.Message{Role: model.User, Text: "hello"})
		turn, err := script.Turn(&model.Request{Messages: messages})
		if err != nil || turn.Stop != model.StopToolCalls {
			t.Fatalf("got %+v, %v, want the stop tool_calls", turn, err)
		}
		for _, call := range turn.ToolCalls {
			if call.ID == "" || call.ID != "mine" && ids[call.ID] || call.Arguments != "{}" {
				t.Errorf("got the call %+v, want an id that is new and the arguments {}", call)
			}
			ids[call.ID] = true
		}
		messages = append(messages, model.Message{Role: model.Assistant})
	}
	if call := script[0].ToolCalls[0]; call.ID != "" || call.Arguments != "" {
		t.Errorf("the script was changed: %+v", call)
	}
}

package offlinemodel_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/offlinemodel"
)

func primary(agents ...string) *workspace {
	return &workspace{names: []string{"task"}, agents: agents, task: func(agent, prompt string) (string, bool) {
		return fmt.Sprintf("%s says: <b>&amp;</b> to %s\n\n%s", agent, prompt, offlinemodel.Note), false
	}}
}

func taskCalls(t *testing.T, ws *workspace) []callArgs {
	t.Helper()
	var out []callArgs
	for _, c := range ws.calls {
		var args callArgs
		if c.Name != "task" || json.Unmarshal([]byte(c.Arguments), &args) != nil {
			t.Errorf("call %s %s, want tasks alone", c.Name, c.Arguments)
		}
		if n := len(strings.Fields(args.Description)); n < 3 || n > 6 {
			t.Errorf("description %q has %d words, want 3 to 6", args.Description, n)
		}
		out = append(out, args)
	}
	return out
}

func TestDelegates(t *testing.T) {
	for _, c := range []struct {
		prompt string
		agents []string
		want   []string // "agent: prompt"
	}{
		{"Where is the bulk rebate decided?", []string{"docs", "explore"}, []string{"explore: Where is the bulk rebate decided?"}},
		{"Where is it?", []string{"docs", "general"}, []string{"docs: Where is it?"}},
		{"Ask the docs agent where the rebate is", []string{"docs", "explore"}, []string{"docs: Ask the docs agent where the rebate is"}},
		{"@docs where is the rebate?", []string{"docs", "explore"}, []string{"docs: @docs where is the rebate?"}},
		{ // a prompt goes to one agent as it is
			"Please answer:\n1. Where is the rebate?\n2. Who loads the config?\n", []string{"explore"},
			[]string{"explore: Please answer:\n1. Where is the rebate?\n2. Who loads the config?"},
		},
	} {
		ws := primary(c.agents...)
		text := ws.ask(t, c.prompt)
		var got []string
		for _, a := range taskCalls(t, ws) {
			got = append(got, a.AgentType+": "+a.Prompt)
		}
		if strings.Join(got, "\n---\n") != strings.Join(c.want, "\n---\n") {
			t.Errorf("asked %q: tasks %q, want %q", c.prompt, got, c.want)
		}
		if n := strings.Count(text, offlinemodel.Note); n != 1 {
			t.Errorf("asked %q: the note stands %d times in\n%s", c.prompt, n, text)
		}
		if n := strings.Count(text, "says: <b>&amp;</b> to "); n != len(c.want) {
			t.Errorf("asked %q: %d of %d answers are handed on in\n%s", c.prompt, n, len(c.want), text)
		}
	}
}

func TestTaskErrors(t *testing.T) {
	failing := func(agent, prompt string) (string, bool) {
		return "it took too long", strings.Contains(prompt, "beta")
	}
	ws := primary("explore")
	ws.task = failing
	if got := ws.ask(t, "find beta"); !strings.Contains(got, "The task failed: it took too long") {
		t.Errorf("the failure is not told:\n%s", got)
	}

	// Where no task works, the tools that are there do.
	ws = open(t, "go.txtar")
	ws.names, ws.agents, ws.task = []string{"task", "grep", "read_file"}, []string{"explore"}, failing
	got := ws.ask(t, "Where is the rebate of beta decided?")
	for _, want := range []string{"failed: it took too long", "pricing/price.go:"} {
		if !strings.Contains(got, want) {
			t.Errorf("all tasks failed: no %q in\n%s", want, got)
		}
	}
}

func TestBackgroundOutcome(t *testing.T) {
	ws := primary("explore")
	got, _ := collect(t, &model.Request{Tools: ws.specs(), Messages: []model.Message{
		{Role: model.User, Text: "Where is the rebate?"},
		{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "1", Name: "task", Arguments: `{"prompt":"Where is the rebate?"}`}}},
		{Role: model.User, ToolResults: []model.ToolResult{{ToolCallID: "1", Text: "started"}}},
		{Role: model.User, Text: "<task_result agent=\"explore\">\nIn judge.go.\n</task_result>"},
	}})
	if len(got.ToolCalls) > 0 || !strings.Contains(got.Text, "In judge.go.") {
		t.Errorf("%d calls, text\n%s", len(got.ToolCalls), got.Text)
	}
}

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
		{
			"Where is the rebate decided? How is the config loaded?", []string{"explore"},
			[]string{"explore: Where is the rebate decided?", "explore: How is the config loaded?"},
		},
		{
			"Where is the rebate decided? And how is it tested?", []string{"explore"},
			[]string{"explore: Where is the rebate decided? And how is it tested?"},
		},
		{
			"Please answer:\n1. Where is the rebate?\n2. Who loads the config?\n   Is it cached?\n", []string{"explore"},
			[]string{"explore: Where is the rebate?", "explore: Who loads the config?\nIs it cached?"},
		},
		{
			"In the permission package:\n- find Judge\n- find Rebate", []string{"explore"},
			[]string{"explore: In the permission package:\n\nfind Judge", "explore: In the permission package:\n\nfind Rebate"},
		},
		{
			"- find alpha\n- find beta\n- find gamma\n- find delta\n- find epsilon", []string{"explore"},
			[]string{"explore: find alpha", "explore: find beta", "explore: find gamma", "explore: find delta", "explore: find epsilon"},
		},
		{"Explain:\n```\n- a\n- b\n```", []string{"explore"}, []string{"explore: Explain:\n```\n- a\n- b\n```"}},
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
		if many := strings.Contains(text, "## 2. "); many != (len(c.want) > 1) {
			t.Errorf("asked %q: headings: %v, with %d answers", c.prompt, many, len(c.want))
		}
	}
}

func TestAtMostFourTasksAtOnce(t *testing.T) {
	ws := primary("explore")
	answer, _ := collect(t, &model.Request{
		Messages: []model.Message{{Role: model.User, Text: "- alpha\n- beta\n- gamma\n- delta\n- epsilon"}}, Tools: ws.specs(),
	})
	if len(answer.ToolCalls) != 4 {
		t.Errorf("%d tasks in one turn, want 4", len(answer.ToolCalls))
	}
}

func TestTaskErrors(t *testing.T) {
	failing := func(agent, prompt string) (string, bool) {
		return "it took too long", strings.Contains(prompt, "beta")
	}
	ws := primary("explore")
	ws.task = failing
	got := ws.ask(t, "- find alpha\n- find beta")
	for _, want := range []string{"## 1. find alpha\n\nit took too long", "## 2. find beta\n\nThe task of agent `explore` failed: it took too long"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}

	// Where no task works, the tools that are there do.
	ws = open(t, "go.txtar")
	ws.names, ws.agents, ws.task = []string{"task", "grep", "read_file"}, []string{"explore"}, failing
	got = ws.ask(t, "Where is the rebate of beta decided?")
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

package taskt_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/anthropicmodel"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/openaimodel"
	"github.com/agentworker/worker/model/replaymodel"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/input"
)

// forkScript has lead look around, and then call sub with its conversation; sub
// calls an agent, which it may not.
var forkScript = replaymodel.Script{
	{Match: replaymodel.Match{User: "lead, begin"}, Reasoning: []string{"hm"}, Signature: "sig", Text: []string{"I look first."},
		ToolCalls: []replaymodel.ToolCall{{ID: "call_1", Name: "agents_list"}}},
	{Match: replaymodel.Match{User: "lead, begin"}, Text: []string{"Now sub."},
		ToolCalls: []replaymodel.ToolCall{{ID: "call_2", Name: "task", Arguments: replaymodel.Arguments(`{"description":"d","prompt":"sub, begin","agentType":"sub","forkContext":"all"}`)}}},
	{Match: replaymodel.Match{User: "lead, begin"}, Text: []string{"lead is done"}},
	{Match: replaymodel.Match{User: "sub, begin"},
		ToolCalls: []replaymodel.ToolCall{{ID: "call_1", Name: "task", Arguments: replaymodel.Arguments(`{"description":"d","prompt":"x","agentType":"explore"}`)}}},
	{Match: replaymodel.Match{User: "sub, begin"}, Text: []string{"sub is done"}},
}

// TestForkWire: what a provider gets of a subagent with forkContext begins with the
// bytes that it got of the caller: tools, system prompt, messages. Its instructions
// and its task follow, and what it may not use is refused (D3).
func TestForkWire(t *testing.T) {
	for _, provider := range []struct {
		name string
		make func(url string) model.Model
	}{
		{"anthropic", func(url string) model.Model {
			return anthropicmodel.New("claude-sonnet-5", &anthropicmodel.Options{APIKey: "k", BaseURL: url})
		}},
		{"openai", func(url string) model.Model {
			return openaimodel.New("gpt-5.5", &openaimodel.Options{APIKey: "k", BaseURL: url + "/v1"})
		}},
	} {
		t.Run(provider.name, func(t *testing.T) {
			server := modeltest.New(t, forkScript, nil)
			e := newEnv(t, provider.make(server.URL), taskt.Limits{Depth: 3}, map[string]string{
				"lead.md": agentFile("allowAgents: [sub]"),
				"sub.md":  "---\ndescription: Does a part.\npermission: {task: deny}\n---\nYou are thorough.\n",
			})
			res := e.Call(t.Context(), e.root, taskt.Input{Description: "d", Prompt: "lead, begin", AgentType: "lead"})
			if res.Err != nil || res.Text != "lead is done" {
				t.Fatalf("%q, %v", res.Text, res.Err)
			}
			got := server.Received()
			if len(got) != 5 {
				t.Fatalf("%d requests, want 5", len(got))
			}
			calling, first, second := parts(t, got[1].Body), parts(t, got[2].Body), parts(t, got[3].Body)
			for _, name := range []string{"tools", "system"} {
				if !bytes.Equal(calling[name], first[name]) {
					t.Errorf("%s of the caller:\n%s\nof the subagent:\n%s", name, calling[name], first[name])
				}
			}
			before, own := list(t, calling["messages"]), list(t, first["messages"])
			if bridged := len(before) + 2; len(own) != len(before)+1 && len(own) != bridged || strings.Join(own[:len(before)], "\n") != strings.Join(before, "\n") {
				t.Fatalf("the caller's messages:\n%s\nthe subagent's:\n%s", strings.Join(before, "\n"), strings.Join(own, "\n"))
			}
			told := own[len(own)-1]
			for _, want := range []string{`You are the agent \"sub\"`, "You are thorough.", "sub, begin"} {
				if !strings.Contains(told, want) {
					t.Errorf("it is told %s, without %q", told, want)
				}
			}
			if again := list(t, second["messages"]); strings.Join(again[:len(own)], "\n") != strings.Join(own, "\n") || !strings.Contains(again[len(again)-1], "is denied by the rule task") {
				t.Errorf("its second request:\n%s", strings.Join(again, "\n"))
			}
			tree, err := e.sessions.Store().Index.Tree(t.Context(), res.Record.Path)
			if err != nil || len(tree) != 2 {
				t.Fatalf("%d sessions, %v", len(tree), err)
			}
			child := tree[0]
			if child.ID == res.SessionID {
				child = tree[1]
			}
			if child.Fork != session.AllTurns || child.ParentMessageID == "" {
				t.Errorf("its record: %+v", child)
			}
		})
	}
}

// cacheMarks are what the Messages API is told to keep: they move with each request,
// and are no part of what is compared.
var cacheMarks = regexp.MustCompile(`,"cache_control":\{[^}]*\}|"cache_control":\{[^}]*\},`)

func parts(t *testing.T, body []byte) map[string]json.RawMessage {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(cacheMarks.ReplaceAll(body, nil), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func list(t *testing.T, raw json.RawMessage) (out []string) {
	t.Helper()
	var all []json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		out = append(out, string(m))
	}
	return out
}

// TestForkTurns: a number of turns is the end of the conversation; a model of
// another name gets no reasoning; a caller without a conversation has none to give.
func TestForkTurns(t *testing.T) {
	var child []model.Message
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		last := req.Messages[len(req.Messages)-1]
		if strings.Contains(last.Text, "Your task:") {
			child = req.Messages
			return answer("ok")(ctx, req, yield)
		}
		switch _, n := prompt(req); n {
		case 0:
			_ = yield(model.Reasoning{Text: "hm", Signature: "s"}) && yield(model.ToolCall{ID: "1", Name: "agents_list", Arguments: "{}"}) && yield(model.Stop{Reason: model.StopToolCalls})
		case 1:
			_ = yield(model.ToolCall{ID: "2", Name: "task", Arguments: `{"description":"d","prompt":"p","agentType":"other"}`}) && yield(model.Stop{Reason: model.StopToolCalls})
		default:
			return answer("done")(ctx, req, yield)
		}
		return nil
	})
	e := setup{limits: taskt.Limits{Depth: 3}, models: func(name string) (model.Model, error) { return renamed{m, name}, nil }, files: map[string]string{
		"lead.md":  agentFile(),
		"other.md": agentFile("forkContext: 1", "model: another"),
	}}.open(t)
	res := e.Call(t.Context(), e.root, taskt.Input{Description: "d", Prompt: "begin", AgentType: "lead"})
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	if len(child) != 4 || child[0].Text != "begin" || len(child[1].Reasoning) > 0 || len(child[2].ToolResults) != 1 {
		t.Errorf("the subagent was sent %+v", child)
	}
	turns := input.ForkContext(2)
	res = e.Call(t.Context(), e.root, taskt.Input{Description: "d", Prompt: "begin", AgentType: "lead", ForkContext: &turns})
	if res.Err == nil || !strings.Contains(res.Err.Error(), "no conversation here") {
		t.Errorf("a host's call: %+v", res)
	}
	res = e.Call(t.Context(), e.root, taskt.Input{Description: "d", Prompt: "Your task:", AgentType: "other"})
	if res.Err != nil {
		t.Errorf("a host's call of an agent with forkContext: %+v", res)
	}
}

type renamed struct {
	model.Model
	name string
}

func (n renamed) Name() string { return "test/" + n.name }

func TestForkContextJSON(t *testing.T) {
	for text, want := range map[string]input.ForkContext{`"all"`: -1, `"none"`: 0, `1`: 1, `1000`: 1000} {
		var f input.ForkContext
		if err := json.Unmarshal([]byte(text), &f); err != nil || f != want {
			t.Errorf("%s: %v, %v", text, f, err)
		}
		if back, err := json.Marshal(f); err != nil || string(back) != text {
			t.Errorf("%v: %s, %v, want %s", f, back, err, text)
		}
	}
	for _, text := range []string{`0`, `-1`, `1001`, `"some"`, `true`, `1.5`, `null`, `{}`} {
		in := fmt.Sprintf(`{"description":"d","prompt":"p","agentType":"explore","forkContext":%s}`, text)
		var f input.ForkContext
		if err := f.UnmarshalJSON([]byte(text)); err == nil || !strings.Contains(err.Error(), "forkContext") {
			t.Errorf("%s: %v, %v", in, f, err)
		}
	}
}

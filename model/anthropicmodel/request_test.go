package anthropicmodel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/anthropicmodel"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/replaymodel"
)

func TestRequests(t *testing.T) {
	for _, test := range requests {
		t.Run(test.name, func(t *testing.T) {
			server := modeltest.New(t, replaymodel.Script{{Text: replaymodel.Chunks{"hello"}, Repeat: true}}, nil)
			if _, err := modeltest.Collect(on(server).Stream(t.Context(), &test.req)); err != nil {
				t.Errorf("got %v, want the request accepted", err)
			}
			body := server.Received()[0].Body
			if !modeltest.SameJSON(t, body, []byte(test.want)) {
				t.Errorf("got  %s\nwant %s", body, test.want)
			}
		})
	}
}

var half = 0.5

func user(text string) model.Message { return model.Message{Role: model.User, Text: text} }

// requests are the rows of TestRequests.
var requests = []struct {
	name string
	req  model.Request
	want string
}{
	{"text", model.Request{Messages: []model.Message{user("hello")}, Params: model.Params{Temperature: &half, MaxOutputTokens: 99}}, `{
			"model": "claude-test", "max_tokens": 99, "temperature": 0.5, "stream": true,
			"messages": [{"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}]}]
		}`},
	{"the model's own limit", model.Request{Messages: []model.Message{user("hello")}, LongestAnswer: 64000}, `{
			"model": "claude-test", "max_tokens": 64000, "stream": true,
			"messages": [{"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}]}]
		}`},
	{"a limit below the model's own", model.Request{Messages: []model.Message{user("hello")}, LongestAnswer: 64000, Params: model.Params{MaxOutputTokens: 99}}, `{
			"model": "claude-test", "max_tokens": 99, "stream": true,
			"messages": [{"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}]}]
		}`},
	{"tools", model.Request{
		System:   "Be brief.",
		Messages: []model.Message{user("hello")},
		Tools: []model.ToolSpec{
			{Name: "b", Description: "B.", InputSchema: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}},"x-big":12345678901234567890}`)},
			{Name: "a"},
		},
	}, `{
			"model": "claude-test", "max_tokens": 8192, "stream": true,
			"system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
			"tools": [
				{"name": "b", "description": "B.", "input_schema": {"type":"object","properties":{"z":{},"a":{}},"x-big":12345678901234567890}},
				{"name": "a", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}
			],
			"messages": [{"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}]}]
		}`},
	{"no tool calls", model.Request{Messages: []model.Message{user("hello")}, Tools: []model.ToolSpec{{Name: "a"}}, NoToolCalls: true}, `{
			"model": "claude-test", "max_tokens": 8192, "stream": true, "tool_choice": {"type": "none"},
			"tools": [{"name": "a", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}],
			"messages": [{"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}]}]
		}`},
	{"no tools and no tool calls", model.Request{System: " \n", Messages: []model.Message{user("hello")}, NoToolCalls: true}, `{
			"model": "claude-test", "max_tokens": 8192, "stream": true,
			"messages": [{"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}]}]
		}`},
	{"steps", model.Request{
		Messages: []model.Message{
			user("hello"),
			{
				Role: model.Assistant, Text: "I look.",
				Reasoning: []model.Reasoning{
					{Text: "Hm.", Signature: "c2ln"}, {Redacted: "cmVk"}, {Signature: "bm8gdGV4dA=="}, {Text: "another provider's"},
				},
				ToolCalls: []model.ToolCall{
					{ID: "toolu_1", Name: "a", Arguments: ` {"z": 1, "a": 2} `},
					{ID: "functions.a:2", Name: "a", Arguments: `{"broken`},
					{ID: "toolu_3", Name: "a", Arguments: `[1]`},
				},
			},
			{
				Role: model.User, Text: "And be quick.",
				ToolResults: []model.ToolResult{
					{ToolCallID: "toolu_1", Text: "one"},
					{ToolCallID: "functions.a:2", Text: "bad arguments", IsError: true},
					{ToolCallID: "toolu_3", Text: " "},
				},
			},
			{Role: model.Assistant},
			{Role: model.Assistant, Text: "\n"},
			user(""),
			user("Well?"),
		},
		Tools: []model.ToolSpec{{Name: "a"}},
	}, `{
			"model": "claude-test", "max_tokens": 8192, "stream": true,
			"tools": [{"name": "a", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}],
			"messages": [
				{"role": "user", "content": [{"type": "text", "text": "hello"}]},
				{"role": "assistant", "content": [
					{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
					{"type": "redacted_thinking", "data": "cmVk"},
					{"type": "thinking", "thinking": "", "signature": "bm8gdGV4dA=="},
					{"type": "text", "text": "I look."},
					{"type": "tool_use", "id": "toolu_1", "name": "a", "input": {"z": 1, "a": 2}},
					{"type": "tool_use", "id": "functions_a_2", "name": "a", "input": {"INVALID_JSON": "{\"broken"}},
					{"type": "tool_use", "id": "toolu_3", "name": "a", "input": {"INVALID_JSON": "[1]"}}
				]},
				{"role": "user", "content": [
					{"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "one"}]},
					{"type": "tool_result", "tool_use_id": "functions_a_2", "is_error": true, "content": [{"type": "text", "text": "bad arguments"}]},
					{"type": "tool_result", "tool_use_id": "toolu_3"},
					{"type": "text", "text": "And be quick.", "cache_control": {"type": "ephemeral"}}
				]},
				{"role": "user", "content": [{"type": "text", "text": "Well?", "cache_control": {"type": "ephemeral"}}]}
			]
		}`},
	{"results last", model.Request{Messages: []model.Message{
		user("hello"),
		{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "toolu_1", Name: "a", Arguments: `{}`}}},
		{Role: model.User, ToolResults: []model.ToolResult{{ToolCallID: "toolu_1", Text: "one"}}},
	}}, `{
			"model": "claude-test", "max_tokens": 8192, "stream": true,
			"messages": [
				{"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}]},
				{"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "a", "input": {}}]},
				{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "cache_control": {"type": "ephemeral"},
					"content": [{"type": "text", "text": "one"}]}]}
			]
		}`},
}

// TestUnsignedReasoning: a server that signs no reasoning gets it back, and Anthropic's does not. Nor does
// a gateway before that.
func TestUnsignedReasoning(t *testing.T) {
	unsigned, signed := model.Reasoning{Text: "Hm."}, model.Reasoning{Text: "So.", Signature: "c2ln"}
	for _, tt := range []struct {
		base     string
		thoughts []model.Reasoning
		want     string // what the request has of them
	}{
		{"https://api.deepseek.com/anthropic", []model.Reasoning{unsigned}, `[{"signature":"","thinking":"Hm.","type":"thinking"},`},
		{"https://api.anthropic.com", []model.Reasoning{unsigned}, `[`},
		{"https://gateway.example.com/anthropic", []model.Reasoning{signed, unsigned}, `[{"signature":"c2ln","thinking":"So.","type":"thinking"},`},
	} {
		var body []byte
		client := &http.Client{Transport: transport(func(req *http.Request) (*http.Response, error) {
			body, _ = io.ReadAll(req.Body)
			return nil, errors.New("no network")
		})}
		m := anthropicmodel.New("claude-test", &anthropicmodel.Options{BaseURL: tt.base, HTTPClient: client, MaxRetries: new(int)})
		_, _ = modeltest.Collect(m.Stream(t.Context(), &model.Request{Messages: []model.Message{
			user("hello"),
			{Role: model.Assistant, Reasoning: tt.thoughts, ToolCalls: []model.ToolCall{{ID: "toolu_1", Name: "a", Arguments: `{}`}}},
			{Role: model.User, ToolResults: []model.ToolResult{{ToolCallID: "toolu_1", Text: "one"}}},
		}}))
		if want := `"content":` + tt.want + `{"id":"toolu_1"`; !strings.Contains(string(body), want) {
			t.Errorf("%s: got %s, want %s", tt.base, body, want)
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) { return t(req) }

func TestImpossibleRequests(t *testing.T) {
	modeltest.Impossible(t, over(&modeltest.Exchange{}), map[string]*model.Request{
		"no messages":    {},
		"empty messages": {Messages: []model.Message{{Role: model.User}, {Role: model.User, Text: " "}}},
	})
}

// TestRoundTrip has the server read what the adapter writes, for any
// conversation: it accepts it, and finds in it what was sent.
func TestRoundTrip(t *testing.T) {
	server := modeltest.New(t, replaymodel.Script{{Text: replaymodel.Chunks{"ok"}, Repeat: true}}, &modeltest.Options{Key: key})
	m := anthropicmodel.New("claude-test", &anthropicmodel.Options{APIKey: key, BaseURL: server.URL, MaxRetries: new(int)})
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		req := conversation(t)
		if _, err := modeltest.Collect(m.Stream(t.Context(), req)); err != nil {
			t.Fatalf("request %+v: %v", req, err)
		}
		got := server.Received()[n].Request
		n++
		if !reflect.DeepEqual(got, req) {
			t.Fatalf("got  %+v\nwant %+v", got, req)
		}
	})
}

// conversation draws a request that keeps the rules of package model.
func conversation(t *rapid.T) *model.Request {
	text := rapid.StringN(1, 20, -1).Filter(func(s string) bool { return strings.TrimSpace(s) != "" })
	id := rapid.StringMatching(`toolu_[A-Za-z0-9]{1,8}`)
	req := &model.Request{
		System:      text.Draw(t, "system"),
		Messages:    []model.Message{{Role: model.User, Text: text.Draw(t, "prompt")}},
		Tools:       []model.ToolSpec{{Name: "grep", Description: text.Draw(t, "description"), InputSchema: json.RawMessage(`{"type":"object"}`)}},
		NoToolCalls: rapid.Bool().Draw(t, "noToolCalls"),
		Params:      model.Params{MaxOutputTokens: rapid.IntRange(1, 9999).Draw(t, "maxOutputTokens")},
	}
	for range rapid.IntRange(0, 4).Draw(t, "steps") {
		answer := model.Message{Role: model.Assistant, Text: text.Draw(t, "answer")}
		if rapid.Bool().Draw(t, "thinks") {
			answer.Reasoning = []model.Reasoning{
				{Text: text.Draw(t, "thought"), Signature: text.Draw(t, "signature")}, {Redacted: text.Draw(t, "redacted")},
			}
		}
		results := model.Message{Role: model.User}
		for _, id := range rapid.SliceOfNDistinct(id, 0, 3, rapid.ID[string]).Draw(t, "calls") {
			arguments, err := json.Marshal(map[string]string{"pattern": text.Draw(t, "pattern")})
			if err != nil {
				t.Fatal(err)
			}
			answer.ToolCalls = append(answer.ToolCalls, model.ToolCall{ID: id, Name: "grep", Arguments: string(arguments)})
			results.ToolResults = append(results.ToolResults, model.ToolResult{
				ToolCallID: id, Text: text.Draw(t, "result"), IsError: rapid.Bool().Draw(t, "isError"),
			})
		}
		if len(results.ToolResults) == 0 || rapid.Bool().Draw(t, "says more") {
			results.Text = text.Draw(t, "more")
		}
		req.Messages = append(req.Messages, answer, results)
	}
	return req
}

func Example() {
	server := modeltest.Start(replaymodel.Script{{Text: replaymodel.Chunks{"Hello there."}}}, nil)
	defer func() { _ = server.Close() }()
	m := anthropicmodel.New("claude-sonnet-5-5", &anthropicmodel.Options{APIKey: "sk-ant-…", BaseURL: server.URL})
	for part, err := range m.Stream(context.Background(), modeltest.Ask("Hello?")) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%T %+v\n", part, part)
	}
	// Output:
	// model.TextDelta {Text:Hello there.}
	// model.Usage {InputTokens:0 OutputTokens:0 CacheReadTokens:0 CacheWriteTokens:0 Cost:}
	// model.Stop {Reason:end}
}

func TestImages(t *testing.T) {
	modeltest.Images(t, on, "messages", `[
		{"role": "user", "content": [
			{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "PNG"}},
			{"type": "text", "text": "look", "cache_control": {"type": "ephemeral"}}
		]},
		{"role": "assistant", "content": [{"type": "tool_use", "id": "call_1", "name": "read_file", "input": {}}, {"type": "tool_use", "id": "call_2", "name": "read_file", "input": {}}]},
		{"role": "user", "content": [
			{"type": "tool_result", "tool_use_id": "call_1", "content": [
				{"type": "text", "text": "b.png"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "PNG"}}
			]},
			{"type": "tool_result", "tool_use_id": "call_2", "content": [{"type": "text", "text": "two"}], "cache_control": {"type": "ephemeral"}}
		]}
	]`)
}

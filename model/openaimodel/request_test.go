package openaimodel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/openaimodel"
	"github.com/agentworker/worker/model/replaymodel"
)

// recorder records the body of a request and gives no answer.
type recorder struct{ body []byte }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var err error
	if r.body, err = io.ReadAll(req.Body); err != nil {
		return nil, err
	}
	return nil, errors.New("recorded")
}

func TestRequests(t *testing.T) {
	for _, test := range requests() {
		t.Run(test.name, func(t *testing.T) {
			var got recorder
			m := openaimodel.New("gpt-test", &openaimodel.Options{
				BaseURL: test.base, HTTPClient: &http.Client{Transport: &got}, MaxRetries: new(int),
			})
			if _, err := modeltest.Collect(m.Stream(t.Context(), &test.req)); got.body == nil {
				t.Fatalf("got no request: %v", err)
			}
			want := strings.Replace(test.want, "{", `{"model":"gpt-test","stream":true,"stream_options":{"include_usage":true},`, 1)
			if !modeltest.SameJSON(t, got.body, []byte(want)) {
				t.Errorf("got  %s\nwant %s", got.body, want)
			}
		})
	}
}

// requestCase is a request and the body that it becomes.
type requestCase struct {
	name, base string
	req        model.Request
	want       string // without model, stream and stream_options
}

// requests returns the rows of TestRequests.
func requests() []requestCase {
	half := 0.5
	user := func(text string) model.Message { return model.Message{Role: model.User, Text: text} }
	called := []model.Message{
		user("hello"),
		{
			Role: model.Assistant, Reasoning: []model.Reasoning{{Text: "Hm."}, {Text: "signed", Signature: "c2ln"}, {Redacted: "cmVk"}},
			ToolCalls: []model.ToolCall{{ID: "call_1", Name: "a", Arguments: `{"z":1,"a":2}`}, {ID: "call_2", Name: "a", Arguments: `{"broken`}},
		},
		{
			Role: model.User, Text: "And be quick.",
			ToolResults: []model.ToolResult{
				{ToolCallID: "call_1", Text: "one"}, {ToolCallID: "call_2", Text: "bad arguments", IsError: true},
			},
		},
		{Role: model.Assistant, Text: "I look again.", ToolCalls: []model.ToolCall{{ID: "call_3", Name: "a", Arguments: `{}`}}},
		{Role: model.User, ToolResults: []model.ToolResult{{ToolCallID: "call_3", Text: "Error: none", IsError: true}}},
		{Role: model.Assistant, Reasoning: []model.Reasoning{{Text: "It is said."}}},
		{Role: model.Assistant, Text: "That is all."},
		user("Well?"),
	}
	cases := []requestCase{
		{"text for OpenAI", "", model.Request{System: "Be brief.", Messages: []model.Message{user("hello")}, Params: model.Params{Temperature: &half, MaxOutputTokens: 99}}, `{
			"max_completion_tokens": 99, "temperature": 0.5,
			"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}]
		}`},
		{"a limit for Azure", "https://name.openai.azure.com/openai/v1", model.Request{Messages: []model.Message{user("hello")}, Params: model.Params{MaxOutputTokens: 99}}, `{
			"max_completion_tokens": 99, "messages": [{"role": "user", "content": "hello"}]
		}`},
		{"a limit for others", "https://api.deepseek.com", model.Request{Messages: []model.Message{user("hello")}, Params: model.Params{MaxOutputTokens: 99}}, `{
			"max_tokens": 99, "messages": [{"role": "user", "content": "hello"}]
		}`},
		{"tools", "", model.Request{
			Messages: []model.Message{user("hello")},
			Tools: []model.ToolSpec{
				{Name: "b", Description: "B.", InputSchema: json.RawMessage(`{"type":"object","x-big":12345678901234567890}`)}, {Name: "a"},
			},
			NoToolCalls: true,
		}, `{
			"messages": [{"role": "user", "content": "hello"}], "tool_choice": "none",
			"tools": [
				{"type": "function", "function": {"name": "b", "description": "B.", "parameters": {"type": "object", "x-big": 12345678901234567890}}},
				{"type": "function", "function": {"name": "a"}}
			]
		}`},
		{"no tools and no tool calls", "", model.Request{Messages: []model.Message{user("hello")}, NoToolCalls: true}, `{
			"messages": [{"role": "user", "content": "hello"}]
		}`},
		{"steps for OpenAI", "", model.Request{Messages: called}, `{"messages": [
			{"role": "user", "content": "hello"},
			{"role": "assistant", "content": null, "tool_calls": [
				{"id": "call_1", "type": "function", "function": {"name": "a", "arguments": "{\"z\":1,\"a\":2}"}},
				{"id": "call_2", "type": "function", "function": {"name": "a", "arguments": "{\"INVALID_JSON\":\"{\\\"broken\"}"}}
			]},
			{"role": "tool", "tool_call_id": "call_1", "content": "one"},
			{"role": "tool", "tool_call_id": "call_2", "content": "Error: bad arguments"},
			{"role": "user", "content": "And be quick."},
			{"role": "assistant", "content": "I look again.", "tool_calls": [{"id": "call_3", "type": "function", "function": {"name": "a", "arguments": "{}"}}]},
			{"role": "tool", "tool_call_id": "call_3", "content": "Error: none"},
			{"role": "assistant", "content": "That is all."},
			{"role": "user", "content": "Well?"}
		]}`},
		{"steps for others", "http://127.0.0.1:1/v1", model.Request{Messages: called}, `{"messages": [
			{"role": "user", "content": "hello"},
			{"role": "assistant", "content": null, "reasoning_content": "Hm.", "tool_calls": [
				{"id": "call_1", "type": "function", "function": {"name": "a", "arguments": "{\"z\":1,\"a\":2}"}},
				{"id": "call_2", "type": "function", "function": {"name": "a", "arguments": "{\"INVALID_JSON\":\"{\\\"broken\"}"}}
			]},
			{"role": "tool", "tool_call_id": "call_1", "content": "one"},
			{"role": "tool", "tool_call_id": "call_2", "content": "Error: bad arguments\n\n[This is not from the tool. It is the next message to you:]\nAnd be quick."},
			{"role": "assistant", "content": "I look again.", "reasoning_content": "", "tool_calls": [{"id": "call_3", "type": "function", "function": {"name": "a", "arguments": "{}"}}]},
			{"role": "tool", "tool_call_id": "call_3", "content": "Error: none"},
			{"role": "assistant", "content": "That is all."},
			{"role": "user", "content": "Well?"}
		]}`},
	}
	return cases
}

func TestImpossibleRequests(t *testing.T) {
	modeltest.Impossible(t, over(&modeltest.Exchange{}), map[string]*model.Request{
		"no messages":    {System: "Be brief."},
		"empty messages": {Messages: []model.Message{{Role: model.User}, {Role: model.Assistant}}},
	})
}

// TestRoundTrip has the server read what the adapter writes, for any
// conversation: it accepts it, and finds in it what was sent.
func TestRoundTrip(t *testing.T) {
	server := modeltest.New(t, replaymodel.Script{{Text: replaymodel.Chunks{"ok"}, Repeat: true}}, &modeltest.Options{Key: key})
	there := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(server.URL, "http://"))
	}}
	t.Cleanup(there.CloseIdleConnections)
	m := openaimodel.New("gpt-test", &openaimodel.Options{ // a server that takes any order of roles
		APIKey: key, BaseURL: "http://api.deepseek.com/v1", HTTPClient: &http.Client{Transport: there}, MaxRetries: new(int),
	})
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
	text := rapid.StringN(1, 20, -1)
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
			answer.Reasoning = []model.Reasoning{{Text: text.Draw(t, "thought")}}
		}
		results := model.Message{Role: model.User}
		for _, id := range rapid.SliceOfNDistinct(rapid.StringMatching(`[!-~]{1,40}`), 0, 3, rapid.ID[string]).Draw(t, "calls") {
			arguments, err := json.Marshal(map[string]string{"pattern": text.Draw(t, "pattern")})
			if err != nil {
				t.Fatal(err)
			}
			answer.ToolCalls = append(answer.ToolCalls, model.ToolCall{ID: id, Name: "grep", Arguments: string(arguments)})
			results.ToolResults = append(results.ToolResults, model.ToolResult{ToolCallID: id, Text: text.Draw(t, "result")})
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
	m := openaimodel.New("llama3.3", &openaimodel.Options{BaseURL: server.URL + "/v1"})
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

// redirected is a transport to a server, whatever the URL of a request.
type redirected string

func (to redirected) RoundTrip(req *http.Request) (*http.Response, error) {
	url, err := url.Parse(string(to) + req.URL.Path)
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.URL = url
	return http.DefaultTransport.RoundTrip(req)
}

func TestImages(t *testing.T) {
	const begin = `[
		{"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,PNG"}}]},
		{"role": "assistant", "content": null, "tool_calls": [
			{"id": "call_1", "type": "function", "function": {"name": "read_file", "arguments": "{}"}},
			{"id": "call_2", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
		]},
		{"role": "tool", "tool_call_id": "call_1", "content": "b.png"},
		{"role": "tool", "tool_call_id": "call_2", "content": "two"},
		`
	const images = `{"role": "user", "content": [
			{"type": "text", "text": "[The images of the tools' results above: b.png, image/png, 1×1, 0.1 KB]"},
			{"type": "image_url", "image_url": {"url": "data:image/png;base64,PNG"}}
		]}
	]`
	modeltest.Images(t, func(server *modeltest.Server) model.Model {
		return openaimodel.New("gpt-test", &openaimodel.Options{HTTPClient: &http.Client{Transport: redirected(server.URL)}, MaxRetries: new(int)})
	}, "messages", begin+images)
	// In the strict order of roles the model has a turn in between.
	modeltest.Images(t, on, "messages", begin+`{"role": "assistant", "content": "I have read the results."},`+images)
}

package modeltest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/anthropicmodel"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/openaimodel"
	"github.com/agentworker/worker/model/replaymodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post sends a request unchanged, and returns the status, the header and the body of
// the answer.
func post(t *testing.T, url string, header map[string]string, body string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(data)
}

var version = map[string]string{"Anthropic-Version": "2023-06-01"}

const (
	anthropicHello = `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hello"}]}`
	responsesHello = `{"model":"m","stream":true,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}]}`
	openaiHello    = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hello"}]}`
)

// TestRefusals: what the providers refuse, the server refuses, in their words.
func TestRefusals(t *testing.T) {
	anthropic := func(rest string) string { return `{"model":"m","max_tokens":9,"stream":true` + rest + `}` }
	openai := func(rest string) string { return `{"model":"m","stream":true` + rest + `}` }
	user := `{"role":"user","content":"hello"}`
	for _, test := range []struct {
		name, path, key, body string
		status                int
		want                  string // a part of the body
	}{
		{"another path", "/v1/models", "k", "", 404, `"message":"not found: /v1/models"`},
		{"no key", "/v1/messages", "", anthropicHello, 401, `"type":"authentication_error"`},
		{"no key", "/v1/chat/completions", "", openaiHello, 401, `"code":"invalid_api_key"`},
		{"no key", "/v1/responses", "", responsesHello, 401, `"code":"invalid_api_key"`},
		{"no JSON", "/v1/responses", "k", "{", 400, "parse the JSON body"},
		{"no model", "/v1/responses", "k", `{}`, 400, "'model'"},
		{"no stream", "/v1/responses", "k", `{"model":"m"}`, 400, "only streams"},
		{"no messages", "/v1/responses", "k", openai(``), 400, "empty array"},
		{"another item", "/v1/responses", "k", openai(`,"input":[{"type":"robot"}]`), 400, "input[0].type"},
		{"another role", "/v1/responses", "k", openai(`,"input":[{"role":"robot","content":"a"}]`), 400, "input[0].role"},
		{"a call without result", "/v1/responses", "k", openai(`,"input":[` + user + `,{"type":"function_call","call_id":"a","name":"a","arguments":"{}"}]`), 400,
			"No tool output found"},
		{"a system message first", "/v1/messages", "k", anthropic(`,"messages":[{"role":"system","content":"a"},` + user + `]`), 400, "first message"},
		{"a system message", "/v1/messages", "k", anthropic(`,"messages":[` + user + `,{"role":"system","content":"a"}]`), 400, `unexpected role \"system\"`},
		{"no JSON", "/v1/messages", "k", "{", 400, `"type":"invalid_request_error"`},
		{"no JSON", "/v1/chat/completions", "k", "{", 400, "parse the JSON body"},
		{"no model", "/v1/messages", "k", `{}`, 400, "model: Field required"},
		{"no model", "/v1/chat/completions", "k", `{}`, 400, "model parameter"},
		{"no stream", "/v1/messages", "k", `{"model":"m","max_tokens":9}`, 400, "only streams"},
		{"no stream", "/v1/chat/completions", "k", `{"model":"m"}`, 400, "only streams"},
		{"no limit", "/v1/messages", "k", `{"model":"m","stream":true}`, 400, "max_tokens: Field required"},
		{"no messages", "/v1/messages", "k", anthropic(``), 400, "at least one message"},
		{"no messages", "/v1/chat/completions", "k", openai(``), 400, "empty array"},
		{"assistant first", "/v1/messages", "k", anthropic(`,"messages":[{"role":"assistant","content":"a"}]`), 400, "first message"},
		{"blank text", "/v1/messages", "k", anthropic(`,"messages":[{"role":"user","content":[{"type":"text","text":" "}]}]`), 400, "non-whitespace"},
		{"no content", "/v1/messages", "k", anthropic(`,"messages":[{"role":"user","content":[]}]`), 400, "non-empty content"},
		{"a choice without tools", "/v1/messages", "k", anthropic(`,"tool_choice":{"type":"none"},"messages":[` + user + `]`), 400, "tool_choice"},
		{"a choice without tools", "/v1/chat/completions", "k", openai(`,"tool_choice":"none","messages":[` + user + `]`), 400, "tool_choice"},
		{"no schema", "/v1/messages", "k", anthropic(`,"tools":[{"name":"a"}],"messages":[` + user + `]`), 400, "input_schema"},
		{"too many breakpoints", "/v1/messages", "k", anthropic(`,"messages":[{"role":"user","content":[` +
			strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},`, 5), ",") + `]}]`), 400, "Found 5"},
		{"thinking without signature", "/v1/messages", "k", anthropic(`,"messages":[` + user +
			`,{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":""}]},` + user + `]`), 400, "Invalid `signature`"},
		{"a bad id", "/v1/messages", "k", anthropic(`,"messages":[` + user +
			`,{"role":"assistant","content":[{"type":"tool_use","id":"a:1","name":"a","input":{}}]}]`), 400, "should match pattern"},
		{"input that is no object", "/v1/messages", "k", anthropic(`,"messages":[` + user +
			`,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"a","input":"{}"}]}]`), 400, "valid dictionary"},
		{"a result after text", "/v1/messages", "k", anthropic(`,"messages":[{"role":"user","content":[
			{"type":"text","text":"a"},{"type":"tool_result","tool_use_id":"a"}]}]`), 400, "must come first"},
		{"a result of no call", "/v1/messages", "k", anthropic(`,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]`), 400,
			"answered by results [a]"},
		{"a call without result", "/v1/messages", "k", anthropic(`,"messages":[` + user +
			`,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"a","input":{}}]},` + user + `]`), 400, "tool calls [a]"},
		{"a call at the end", "/v1/messages", "k", anthropic(`,"messages":[` + user +
			`,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"a","input":{}}]}]`), 400, "without results"},
		{"a call without result", "/v1/chat/completions", "k", openai(`,"messages":[` + user +
			`,{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"a","arguments":"{}"}}]},` + user + `]`), 400,
			"must be followed by tool messages"},
		{"a result of no call", "/v1/chat/completions", "k", openai(`,"messages":[{"role":"tool","tool_call_id":"a","content":"x"}]`), 400, "tool messages"},
		{"no content", "/v1/chat/completions", "k", openai(`,"messages":[` + user + `,{"role":"assistant","content":null}]`), 400, "messages[1].content"},
		{"another role", "/v1/chat/completions", "k", openai(`,"messages":[{"role":"robot","content":"a"}]`), 400, "messages[0].role"},
		{"a script without a turn", "/messages", "k", strings.Replace(anthropicHello, "hello", "other", 1), 400, "no turn whose match fits"},
	} {
		t.Run(test.name+strings.ReplaceAll(test.path, "/", " "), func(t *testing.T) {
			server := modeltest.New(t, replaymodel.Script{{Match: replaymodel.Match{User: "hello"}}}, &modeltest.Options{Key: "k"})
			header := map[string]string{"Anthropic-Version": "2023-06-01", "X-Api-Key": test.key, "Authorization": "Bearer " + test.key}
			status, _, body := post(t, server.URL+test.path, header, test.body)
			if status != test.status || !strings.Contains(body, test.want) {
				t.Errorf("%s: got %d %s, want %d and %q", test.body, status, body, test.status, test.want)
			}
		})
	}
}

// TestConversation: a conversation as hosts send it, in each format, is read as
// what it says.
func TestConversation(t *testing.T) {
	want := model.Request{
		System: "You are a host. Be brief.",
		Tools:  []model.ToolSpec{{Name: "mcp__worker.task", Description: "Gives a task.", InputSchema: []byte(`{"type":"object"}`)}},
		Messages: []model.Message{
			{Role: model.User, Text: "hello"},
			{Role: model.Assistant, Text: "I ask.", ToolCalls: []model.ToolCall{{ID: "a", Name: "mcp__worker.task", Arguments: "{}"}, {ID: "b", Name: "grep", Arguments: "{}"}}},
			{Role: model.User, ToolResults: []model.ToolResult{{ToolCallID: "a", Text: "It took 1 s.<task_result>"}, {ToolCallID: "b", Text: "none"}}},
		},
	}
	server := modeltest.New(t, replaymodel.Script{{Text: replaymodel.Chunks{"hi"}, Repeat: true}}, nil)
	beta := map[string]string{"Anthropic-Version": "2023-06-01", "Anthropic-Beta": "some-2026-01-01"}
	for _, test := range []struct {
		path string
		body string
	}{
		{"/v1/messages", `{"model":"m","max_tokens":9,"stream":true,"system":"You are a host.",
			"tools":[{"name":"mcp__worker.task","description":"Gives a task.","input_schema":{"type":"object"}}],
			"messages":[{"role":"user","content":"hello"},{"role":"system","content":" Be brief."},
			{"role":"assistant","content":[{"type":"text","text":"I ask."},{"type":"tool_use","id":"a","name":"mcp__worker.task","input":{}},{"type":"tool_use","id":"b","name":"grep","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"It took 1 s."},{"type":"text","text":"<task_result>"}]},
			{"type":"tool_result","tool_use_id":"b","content":"none"}]}]}`},
		{"/v1/responses", `{"model":"m","stream":true,"instructions":"You are a host.",
			"tools":[{"type":"web_search"},{"type":"namespace","name":"mcp__worker","tools":[{"type":"function","name":"task","description":"Gives a task.","parameters":{"type":"object"}}]}],
			"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":" Be brief."}]},
			{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]},
			{"type":"reasoning","summary":[],"encrypted_content":"x"},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I ask."}]},
			{"type":"function_call","call_id":"a","namespace":"mcp__worker","name":"task","arguments":"{}"},
			{"type":"function_call","call_id":"b","name":"grep","arguments":"{}"},
			{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"It took 1 s."},{"type":"input_text","text":"<task_result>"}]},
			{"type":"function_call_output","call_id":"b","output":"none"}]}`},
	} {
		status, _, answer := post(t, server.URL+test.path, beta, test.body)
		all := server.Received()
		got := all[len(all)-1].Request
		if status != 200 || got == nil {
			t.Errorf("%s: status %d, %s", test.path, status, answer)
			continue
		}
		got.Params = model.Params{}
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: got %+v, want %+v", test.path, *got, want)
		}
	}
}

func TestReceived(t *testing.T) {
	server := modeltest.New(t, replaymodel.Script{{Text: replaymodel.Chunks{"hi"}, Repeat: true}}, nil)
	post(t, server.URL+"/messages", map[string]string{"Anthropic-Version": "x", "X-Stainless-Retry-Count": "2"}, anthropicHello)
	post(t, server.URL+"/chat/completions", nil, openaiHello)
	post(t, server.URL+"/chat/completions", nil, `{}`)
	got := server.Received()
	if len(got) != 3 || got[0].Path != "/messages" || got[0].Attempt != 2 || got[0].Model != "m" || string(got[0].Body) != anthropicHello ||
		got[0].Request.Messages[0].Text != "hello" || got[1].Request.Messages[0].Text != "hello" || got[2].Request != nil {
		t.Errorf("got %+v, want the three requests as they were sent", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := server.Await(ctx, 3); err != nil {
		t.Errorf("waiting for the third request: %v", err)
	}
	if err := server.Await(ctx, 4); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for a fourth request: got %v, want context.Canceled", err)
	}
}

func TestTranscriptAndCut(t *testing.T) {
	whole := modeltest.Transcript("anthropic-tools")
	for _, cut := range []int{0, 1, 500, len(whole)} {
		server := modeltest.New(t, nil, &modeltest.Options{Transcript: whole, CutAfter: cut, Split: 100})
		m := anthropicmodel.New("m", &anthropicmodel.Options{BaseURL: server.URL, MaxRetries: new(int)})
		got, err := modeltest.Collect(m.Stream(t.Context(), ask("hello")))
		var e *model.Error
		if complete := cut == 0 || cut == len(whole); complete && (err != nil || got.Stop != model.StopToolCalls) {
			t.Errorf("cut after %d: got %+v, %v, want the whole answer", cut, got, err)
		} else if !complete && (!errors.As(err, &e) || e.Kind != model.ErrUnavailable) {
			t.Errorf("cut after %d: got %+v, %v, want kind unavailable", cut, got, err)
		}
	}
}

// TestUnknownTranscript: a misspelt name is a mistake in a test.
func TestUnknownTranscript(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("got no panic for an unknown transcript")
		}
	}()
	modeltest.Transcript("unknown")
}

// TestAwaitIdle: a request counts as open until its client has left.
func TestAwaitIdle(t *testing.T) {
	server := modeltest.New(t, replaymodel.Script{{Hang: true}}, nil)
	m := openaimodel.New("m", &openaimodel.Options{BaseURL: server.URL})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() {
		_, err := modeltest.Collect(m.Stream(ctx, ask("hello")))
		done <- err
	}()
	if err := server.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if err := server.AwaitIdle(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v while an answer hangs, want context.Canceled", err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if err := server.AwaitIdle(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDelay(t *testing.T) {
	server := modeltest.New(t, replaymodel.Script{{Text: replaymodel.Chunks{"a", "b"}, DelayMs: 10}}, nil)
	start := time.Now()
	post(t, server.URL+"/v1/chat/completions", nil, openaiHello)
	if took := time.Since(start); took < 20*time.Millisecond {
		t.Errorf("two pieces came after %v, want at least 20ms", took)
	}
}

func ask(text string) *model.Request {
	return &model.Request{Messages: []model.Message{{Role: model.User, Text: text}}}
}

func ExampleServer() {
	server := modeltest.Start(replaymodel.Script{
		{Match: replaymodel.Match{System: "You are a child"}, Text: replaymodel.Chunks{"I am the child."}},
		{Text: replaymodel.Chunks{"I am the parent."}},
	}, nil)
	defer func() { _ = server.Close() }()
	for _, m := range []model.Model{
		anthropicmodel.New("claude-sonnet-5-5", &anthropicmodel.Options{BaseURL: server.URL}),
		openaimodel.New("gpt-5.5", &openaimodel.Options{BaseURL: server.URL + "/v1"}),
	} {
		for _, system := range []string{"You are a child.", "You are a parent."} {
			req := ask("Who are you?")
			req.System = system
			got, err := modeltest.Collect(m.Stream(context.Background(), req))
			fmt.Println(m.Name(), got.Text, err)
		}
	}
	fmt.Println(len(server.Received()), "requests")
	// Output:
	// anthropic/claude-sonnet-5-5 I am the child. <nil>
	// anthropic/claude-sonnet-5-5 I am the parent. <nil>
	// openai/gpt-5.5 I am the child. <nil>
	// openai/gpt-5.5 I am the parent. <nil>
	// 4 requests
}

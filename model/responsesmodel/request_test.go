package responsesmodel_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/responsesmodel"
)

// scripted answers each request with the next of some bodies, and keeps the requests.
type scripted struct {
	answers []string
	bodies  []string
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.bodies = append(s.bodies, string(body))
	answer := s.answers[min(len(s.bodies), len(s.answers))-1]
	res := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}
	if strings.HasPrefix(answer, "{") {
		res.StatusCode, res.Header = 400, http.Header{"Content-Type": {"application/json"}}
	}
	return res, nil
}

func (s *scripted) model(name string) model.Model {
	return responsesmodel.New(name, &responsesmodel.Options{APIKey: key, HTTPClient: &http.Client{Transport: s}, MaxRetries: new(int)})
}

const reasoned = `data: {"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","encrypted_content":"gAAA+/<&>==","summary":[{"type":"summary_text","text":"h\u00e9 <m>"}],"status":"completed"}}

data: {"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"msg_1","phase":"commentary","content":[{"type":"output_text","text":"I look."}]}}

data: {"type":"response.output_item.done","output_index":2,"item":{"type":"reasoning","id":"rs_2","encrypted_content":"gBBB","summary":[]}}

data: {"type":"response.output_item.done","output_index":3,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"grep","arguments":"{\"a\":1}"}}

data: {"type":"response.completed","response":{"status":"completed","output":[]}}

`

// TestReasoningComesBack: encrypted reasoning goes back as it came, in order and without ids. The
// beginning of a conversation stays the same. What the server can't read is left out from then on.
func TestReasoningComesBack(t *testing.T) {
	done := "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n"
	server := &scripted{answers: []string{reasoned, done,
		`{"error":{"message":"The encrypted content gAAA could not be verified.","type":"invalid_request_error","code":"invalid_encrypted_content"}}`, done}}
	m := server.model("gpt-5.5")
	req := modeltest.Ask("hello")
	req.System, req.Effort, req.Path = "Be <brief>.", "high", []string{"root", "child"}
	req.Tools = []model.ToolSpec{{Name: "grep", InputSchema: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}}}`)}}
	got, err := modeltest.Collect(m.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := json.Marshal(got.Message()) // as a session stores it
	if err != nil {
		t.Fatal(err)
	}
	var back model.Message
	if err := json.Unmarshal(kept, &back); err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, back, model.Message{Role: model.User, ToolResults: []model.ToolResult{{ToolCallID: "c1", Text: "none", IsError: true}}})
	for range 2 {
		if _, err := modeltest.Collect(m.Stream(t.Context(), req)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		`{"type":"reasoning","encrypted_content":"gAAA+/<&>==","summary":[{"type":"summary_text","text":"h\u00e9 <m>"}]},` +
			`{"type":"message","role":"assistant","content":"I look.","phase":"commentary"},` +
			`{"type":"reasoning","encrypted_content":"gBBB","summary":[]},` +
			`{"type":"function_call","call_id":"c1","name":"grep","arguments":"{\"a\":1}"},` +
			`{"type":"function_call_output","call_id":"c1","output":"Error: none"}]`,
		`"store":false`, `"include":["reasoning.encrypted_content"]`, `"reasoning":{"effort":"high","summary":"auto"}`, `"strict":false`,
	} {
		if !strings.Contains(server.bodies[1], want) {
			t.Errorf("got %s\nwant in it %s", server.bodies[1], want)
		}
	}
	first, _, _ := strings.Cut(server.bodies[0], "]")
	if before, _, found := strings.Cut(server.bodies[0], `"}]`); !found || !strings.HasPrefix(server.bodies[1], before) {
		t.Errorf("the second request does not begin as the first: %s\n%s", first, server.bodies[1])
	}
	if strings.Contains(server.bodies[1], "root") || !strings.Contains(server.bodies[1], `"prompt_cache_key":"`) {
		t.Errorf("got %s: the cache key has to hide the session's id", server.bodies[1])
	}
	if last := server.bodies[3]; len(server.bodies) != 4 || strings.Contains(last, "gAAA") || !strings.Contains(last, `"call_id":"c1"`) {
		t.Errorf("%d requests, the last %s, want it without what was refused", len(server.bodies), last)
	}
}

// TestRefusedFields: what a model does not take, and an answer does not depend on, is left out after one refusal.
func TestRefusedFields(t *testing.T) {
	done := "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n"
	refuse := func(words string) string {
		return `{"error":{"type":"invalid_request_error","message":"` + words + `"}}`
	}
	server := &scripted{answers: []string{
		refuse("Encrypted content is not supported with this model."), refuse("Unsupported parameter: 'reasoning.summary'"),
		refuse("Unknown parameter: 'prompt_cache_key'."), done, done, refuse("Bad schema"),
	}}
	m := server.model("some-deployment")
	req := modeltest.Ask("hello")
	req.Path = []string{"root"}
	for range 2 {
		if _, err := modeltest.Collect(m.Stream(t.Context(), req)); err != nil {
			t.Fatal(err)
		}
	}
	if last := server.bodies[4]; len(server.bodies) != 5 || strings.Contains(last, "encrypted") || strings.Contains(last, "summary") || strings.Contains(last, "cache") {
		t.Errorf("%d requests, the last %s", len(server.bodies), last)
	}
	if _, err := modeltest.Collect(m.Stream(t.Context(), req)); err == nil || len(server.bodies) != 6 {
		t.Errorf("%v after %d requests, want a refusal of another kind at once", err, len(server.bodies))
	}
}

func TestImages(t *testing.T) {
	modeltest.Images(t, on, "input", `[
		{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": "data:image/png;base64,PNG", "detail": "auto"}]},
		{"type": "function_call", "call_id": "call_1", "name": "read_file", "arguments": "{}"},
		{"type": "function_call", "call_id": "call_2", "name": "read_file", "arguments": "{}"},
		{"type": "function_call_output", "call_id": "call_1", "output": [
			{"type": "input_text", "text": "b.png"}, {"type": "input_image", "image_url": "data:image/png;base64,PNG", "detail": "auto"}
		]},
		{"type": "function_call_output", "call_id": "call_2", "output": "two"}
	]`)
}

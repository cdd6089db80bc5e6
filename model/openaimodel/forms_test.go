package openaimodel_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/openaimodel"
)

// TestTolerance: what is not needed for the answer may have any form.
func TestTolerance(t *testing.T) {
	say := func(text string) string {
		return string(chunks(`{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}`))
	}
	delta := func(delta string) string {
		return string(chunks(`{"index":0,"delta":{` + delta + `},"finish_reason":null}`))
	}
	end := string(chunks(`{"index":0,"delta":{},"finish_reason":"stop"}`)) + "data: [DONE]\n\n"
	said := modeltest.Answer{Text: "so", Stop: model.StopEnd}
	for _, test := range []struct {
		name, body string
		want       modeltest.Answer
	}{
		{"a word in brackets", say("s") + "data: [PING]\n\n" + say("o") + end, said},
		{"a keep-alive event", say("s") + "event: keepalive\ndata: keep-alive\n\n" + say("o") + end, said},
		{"a byte order mark", "\uFEFF" + say("s") + say("o") + end, said},
		{"unknown reasoning", delta(`"reasoning":7`) + say("so") + end, said},
		{"unknown usage", say("so") + `data: {"choices":[],"usage":"none"}` + "\n\n" + end, said},
		{"an empty error", say("s") + `data: {"error":{},"choices":[{"index":0,"delta":{"content":"o"}}]}` + "\n\n" + end, said},
		{"the whole message again", say("so") + `data: {"choices":[{"index":0,"message":{"content":"so"},"finish_reason":"stop"}]}` + "\n\n", said},
		{"numbers as texts", delta(`"tool_calls":[{"index":"0","id":7,"function":{"name":"a","arguments":"{}"}}]`) + end,
			modeltest.Answer{ToolCalls: []model.ToolCall{{ID: "7", Name: "a", Arguments: "{}"}}, Stop: model.StopToolCalls}},
		{"a call that is not in a list", delta(`"tool_calls":{"id":"7","function":{"name":"a","arguments":{}}}`) + end,
			modeltest.Answer{ToolCalls: []model.ToolCall{{ID: "7", Name: "a", Arguments: "{}"}}, Stop: model.StopToolCalls}},
	} {
		got, err := modeltest.Collect(over(&modeltest.Exchange{Body: []byte(test.body)}).Stream(t.Context(), modeltest.Ask("hello")))
		if err != nil || !reflect.DeepEqual(plain(got), test.want) {
			t.Errorf("%s: got %+v, %v, want %+v", test.name, got, err, test.want)
		}
	}
}

// TestHandedBack: what a provider wants back comes back as it came, and to no other.
func TestHandedBack(t *testing.T) {
	call := func(extra string) string {
		return `{"index":0,"id":"c","function":{"name":"a","arguments":"{}"}` + extra + `}`
	}
	const (
		signature = `{"google":{"thought_signature":"a+b/c<d>=="}}`
		gemini    = "https://generativelanguage.googleapis.com/v1beta/openai"
		router    = "https://openrouter.ai/api/v1"
	)
	body := func(delta string) []byte {
		return chunks(`{"index":0,"delta":{`+delta+`},"finish_reason":null}`, `{"index":0,"delta":{},"finish_reason":"stop"}`)
	}
	for _, test := range []struct {
		name, base string
		body       []byte
		want       string // in the next request
		missing    string // not in it
	}{
		{"a signature", gemini, body(`"tool_calls":[` + call(`,"extra_content":`+signature) + `]`), signature, ""},
		{"a signature in another chunk", gemini, append(chunks(`{"index":0,"delta":{"tool_calls":[`+call("")+`]}}`), body(`"tool_calls":[{"extra_content":`+signature+`}]`)...), signature, ""},
		{"none from another model", gemini, calls(call("")), "skip_thought_signature_validator", ""},
		{"details", router, append(chunks(
			`{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.text","text":"h","index":0,"signature":null}]}}`,
			`{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.text","text":"m","index":0,"signature":"s<g"}]}}`,
			`{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"gAAA","index":1}]}}`), calls(call(""))...),
			`"reasoning_details":[{"index":0,"signature":"s<g","text":"hm","type":"reasoning.text"},{"type":"reasoning.encrypted","data":"gAAA","index":1}]`, ""},
		{"what is opaque", "https://api.githubcopilot.com", append(chunks(`{"index":0,"delta":{"reasoning_opaque":"b3Bh"}}`), calls(call(""))...), `"reasoning_opaque":"b3Bh"`, ""},
		{"nothing", "https://packages.example.com/v1", calls(call("")), `"id":"c"`, "extra_content"},
	} {
		answers := &modeltest.Exchange{Body: test.body}
		asked := &kept{answers, nil}
		m := openaimodel.New("gemini-3", &openaimodel.Options{Provider: "x", BaseURL: test.base, HTTPClient: &http.Client{Transport: asked}, MaxRetries: new(int)})
		req := modeltest.Ask("hello")
		got, err := modeltest.Collect(m.Stream(t.Context(), req))
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		req.Messages = append(req.Messages, got.Message(), model.Message{Role: model.User, ToolResults: []model.ToolResult{{ToolCallID: "c", Text: "done"}}})
		if _, err := modeltest.Collect(m.Stream(t.Context(), req)); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		sent := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(asked.last))
		if !strings.Contains(sent, test.want) || test.missing != "" && strings.Contains(sent, test.missing) {
			t.Errorf("%s: sent %s\nwant %s in it, and no %q", test.name, sent, test.want, test.missing)
		}
	}
}

// kept keeps the last request.
type kept struct {
	to   http.RoundTripper
	last []byte
}

func (k *kept) RoundTrip(req *http.Request) (*http.Response, error) {
	k.last, _ = io.ReadAll(req.Body)
	return k.to.RoundTrip(req)
}

// TestThoughtsRefused: a server that refuses what the model has thought gets the request without it.
func TestThoughtsRefused(t *testing.T) {
	for _, said := range []string{
		"messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported",
		`[{"type":"extra_forbidden","loc":["body","messages",1,"assistant","reasoning_content"],"msg":"Extra inputs are not permitted"}]`,
	} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), "reasoning_content") {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusUnprocessableEntity)
				_ = json.NewEncoder(w).Encode(map[string]any{"message": said})
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write(chunks(`{"index":0,"delta":{"reasoning":"hm","content":"so"}}`, `{"index":0,"delta":{},"finish_reason":"stop"}`))
		}))
		defer server.Close()
		m := client(modeltest.Client{URL: server.URL, Key: key, Retries: new(int)})
		req := modeltest.Ask("hello")
		for range 3 {
			got, err := modeltest.Collect(m.Stream(t.Context(), req))
			if err != nil || got.Text != "so" {
				t.Fatalf("got %+v, %v", got, err)
			}
			req.Messages = append(req.Messages, got.Message(), model.Message{Role: model.User, Text: "Go on."})
		}
		if asked != 4 {
			t.Errorf("%d requests, want 4: one was refused", asked)
		}
	}
}

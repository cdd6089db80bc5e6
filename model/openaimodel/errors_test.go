package openaimodel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/openaimodel"
	"github.com/agentworker/worker/model/replaymodel"
)

func TestAdapter(t *testing.T) { modeltest.Adapter(t, client) }

func TestErrors(t *testing.T) {
	jsonBody := map[string]string{"Content-Type": "application/json"}
	events := map[string]string{"Content-Type": "text/event-stream"}
	modeltest.Refusals(t, key, client, []modeltest.Refusal{
		{Name: "key", Status: 401, Header: jsonBody, Body: `{"error":{"message":"Incorrect API key provided: ` + key + `.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
			Want: model.Error{Kind: model.ErrAuth, Status: 401, Message: "Incorrect API key provided: [key]."}},
		{Name: "no money", Status: 402, Header: jsonBody, Body: `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`,
			Want: model.Error{Kind: model.ErrAuth, Status: 402, Message: "Insufficient Balance"}},
		{Name: "no quota", Status: 429, Header: jsonBody, Body: `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
			Want: model.Error{Kind: model.ErrAuth, Status: 429, Message: "current quota"}},
		{Name: "rate limit", Status: 429, Header: map[string]string{"Retry-After": "20"}, Body: `{"error":{"message":"Rate limit reached\nfor gpt-test","type":"requests","code":"rate_limit_exceeded"}}`,
			Want: model.Error{Kind: model.ErrRateLimited, Status: 429, RetryAfter: 20 * time.Second, Message: "Rate limit reached for gpt-test"}},
		{Name: "bad request", Status: 400, Header: jsonBody, Body: `{"error":{"message":"Unsupported parameter","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`,
			Want: model.Error{Kind: model.ErrInvalid, Status: 400, Message: "Unsupported parameter"}},
		{Name: "Ollama's text", Status: 400, Header: jsonBody, Body: `{"error":"model does not support tools"}`,
			Want: model.Error{Kind: model.ErrInvalid, Status: 400, Message: "model does not support tools"}},
		{Name: "vLLM", Status: 400, Header: jsonBody, Body: `{"object":"error","message":"This model's maximum context length is 8 tokens","type":"BadRequestError","param":null,"code":400}`,
			Want: model.Error{Kind: model.ErrInvalid, Status: 400, Message: "maximum context length"}},
		{Name: "Mistral", Status: 422, Header: jsonBody, Body: `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","x"]}]}}`,
			Want: model.Error{Kind: model.ErrInvalid, Status: 422, Message: "extra_forbidden"}},
		{Name: "no path", Status: 404, Header: map[string]string{"Content-Type": "text/plain"}, Body: "404 page not found\n",
			Want: model.Error{Kind: model.ErrInvalid, Status: 404, Message: "404 page not found (check the model's name and the base URL http://127.0.0.1"}},
		{Name: "server", Status: 500, Header: jsonBody, Body: `{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}`,
			Want: model.Error{Kind: model.ErrUnavailable, Status: 500, Message: "The server had an error"}},
		{Name: "a gateway's page", Status: 503, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>",
			Want: model.Error{Kind: model.ErrUnavailable, Status: 503, Message: "Service Unavailable"}},
		{Name: "nothing", Status: 500, Body: "", Want: model.Error{Kind: model.ErrUnavailable, Status: 500, Message: "Internal Server Error"}},
		{Name: "a page", Status: 200, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>",
			Want: model.Error{Kind: model.ErrProtocol, Status: 200, Message: "check the base URL"}},
		{Name: "an answer in one piece", Status: 200, Header: jsonBody, Body: `{"object":"chat.completion","choices":[]}`,
			Want: model.Error{Kind: model.ErrProtocol, Status: 200, Message: "application/json"}},
		{Name: "a redirect", Status: 308, Header: map[string]string{"Location": "http://127.0.0.1:1/elsewhere"}, Body: "",
			Want: model.Error{Kind: model.ErrProtocol, Status: 308, Message: "redirects to http://127.0.0.1:1/elsewhere"}},
		{Name: "an empty stream", Status: 200, Header: events, Body: "", Want: model.Error{Kind: model.ErrUnavailable, Message: "before the answer was complete"}},
		{Name: "[DONE] without a finish reason", Status: 200, Header: events, Body: "data: [DONE]\n\n",
			Want: model.Error{Kind: model.ErrUnavailable, Message: "before the answer was complete"}},
		{Name: "no JSON", Status: 200, Header: events, Body: "data: {\n\n", Want: model.Error{Kind: model.ErrProtocol, Message: "reading the answer"}},
		{Name: "a late error", Status: 200, Header: events, Body: `data: {"error":{"message":"slow ` + key + `","type":"requests","code":"rate_limit_exceeded"}}` + "\n\n",
			Want: model.Error{Kind: model.ErrRateLimited, Message: "slow [key]"}},
		{Name: "a late error of vLLM", Status: 200, Header: events, Body: `data: {"object":"error","message":"bad","type":"BadRequestError","code":400}` + "\n\n",
			Want: model.Error{Kind: model.ErrInvalid, Message: "bad"}},
		{Name: "a late text", Status: 200, Header: events, Body: `data: {"error":"llama runner process has terminated"}` + "\n\n",
			Want: model.Error{Kind: model.ErrUnavailable, Message: "llama runner"}},
		{Name: "DeepSeek has no room", Status: 200, Header: events, Body: `data: {"choices":[{"index":0,"delta":{},"finish_reason":"insufficient_system_resource"}]}` + "\n\n",
			Want: model.Error{Kind: model.ErrUnavailable, Message: "insufficient_system_resource"}},
	})
}

// TestRetriesAreTold: of a wait for the next try is told before it begins, with
// its length, and leaving the loop then ends the call.
func TestRetriesAreTold(t *testing.T) {
	limited := replaymodel.Script{{
		Text:  replaymodel.Chunks{"at last"},
		Error: &replaymodel.Failure{Status: 429, Times: 2, RetryAfterMs: 7},
	}}
	server := modeltest.New(t, limited, nil)
	m := openaimodel.New("gpt-test", &openaimodel.Options{BaseURL: server.URL + "/v1"})
	got, err := modeltest.Collect(m.Stream(t.Context(), modeltest.Ask("hello")))
	want := []model.Retry{
		{Reason: model.ErrRateLimited, Try: 2, Tries: 3, Wait: 7 * time.Millisecond},
		{Reason: model.ErrRateLimited, Try: 3, Tries: 3, Wait: 7 * time.Millisecond},
	}
	if err != nil || !slices.Equal(got.Retries, want) {
		t.Errorf("got %+v, %v, want the retries %+v", got, err, want)
	}

	limited[0].Error.RetryAfterMs = int(time.Minute / time.Millisecond)
	server = modeltest.New(t, limited, nil)
	m = openaimodel.New("gpt-test", &openaimodel.Options{BaseURL: server.URL + "/v1"})
	for part, err := range m.Stream(t.Context(), modeltest.Ask("hello")) {
		if retry, ok := part.(model.Retry); !ok || err != nil || retry.Wait != time.Minute {
			t.Errorf("got %+v, %v, want a retry in a minute", part, err)
		}
		break
	}
	if n := len(server.Received()); n != 1 {
		t.Errorf("%d requests, want 1: the loop was left", n)
	}

	m = openaimodel.New("gpt-test", &openaimodel.Options{BaseURL: "http://127.0.0.1:1", MaxRetries: new(1)})
	got, err = modeltest.Collect(m.Stream(t.Context(), modeltest.Ask("hello")))
	if want := []model.Retry{{Reason: model.ErrUnavailable, Try: 2, Tries: 2}}; err == nil || !slices.Equal(got.Retries, want) {
		t.Errorf("no server: got %+v, %v, want the retries %+v", got, err, want)
	}
}

// TestEnvironment has everything set that the SDK reads by default.
func TestEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "sk-stray", "OPENAI_ADMIN_KEY": "sk-stray", "OPENAI_BASE_URL": "http://127.0.0.1:1",
		"OPENAI_ORG_ID": "org-stray", "OPENAI_PROJECT_ID": "proj-stray", "OPENAI_CUSTOM_HEADERS": "X-Stray: stray",
		"ANTHROPIC_API_KEY": "sk-stray",
	} {
		t.Setenv(name, value)
	}
	for base, path := range map[string]string{
		"": "/chat/completions", "/": "/chat/completions", "/v1": "/v1/chat/completions", "/v1/": "/v1/chat/completions",
	} {
		for bearer, want := range map[string]string{key: "Bearer " + key, "": "", key + "\n": "Bearer " + key} {
			server := modeltest.New(t, replaymodel.Script{{Text: replaymodel.Chunks{"hello"}}}, nil)
			m := openaimodel.New("gpt-test", &openaimodel.Options{APIKey: bearer, BaseURL: server.URL + base})
			if _, err := modeltest.Collect(m.Stream(t.Context(), modeltest.Ask("hello"))); err != nil {
				t.Fatalf("base URL with %q: %v", base, err)
			}
			got := server.Received()[0]
			if header := fmt.Sprint(got.Header); got.Path != path || got.Header.Get("Authorization") != want ||
				strings.Contains(strings.ToLower(header), "stray") {
				t.Errorf("base URL with %q, key %q: got the path %s and the header %v, want %s and %q", base, bearer, got.Path, header, path, want)
			}
		}
	}
}

func TestName(t *testing.T) {
	if got, want := openaimodel.New("gpt-test", nil).Name(), "openai/gpt-test"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

package anthropicmodel_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/anthropicmodel"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/replaymodel"
)

func TestAdapter(t *testing.T) { modeltest.Adapter(t, client) }

func TestErrors(t *testing.T) {
	jsonBody := map[string]string{"Content-Type": "application/json"}
	modeltest.Refusals(t, key, client, []modeltest.Refusal{
		{Name: "key", Status: 401, Header: jsonBody, Body: `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_1"}`,
			Want: model.Error{Kind: model.ErrAuth, Status: 401, Message: "invalid x-api-key"}},
		{Name: "an echoed key", Status: 401, Header: jsonBody, Body: `{"type":"error","error":{"type":"authentication_error","message":"no such key:\n` + key + `"}}`,
			Want: model.Error{Kind: model.ErrAuth, Status: 401, Message: "no such key: [key]"}},
		{Name: "an echoed key in a text", Status: 403, Body: "forbidden for " + key, Want: model.Error{Kind: model.ErrAuth, Status: 403, Message: "forbidden for [key]"}},
		{Name: "no money", Status: 400, Header: jsonBody, Body: `{"type":"error","error":{"type":"billing_error","message":"Your credit balance is too low"}}`,
			Want: model.Error{Kind: model.ErrAuth, Status: 400, Message: "credit balance"}},
		{Name: "unknown model", Status: 404, Header: jsonBody, Body: `{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}`,
			Want: model.Error{Kind: model.ErrInvalid, Status: 404, Message: "model: claude-x (check the model's name and the base URL http://127.0.0.1"}},
		{Name: "too long", Status: 413, Header: jsonBody, Body: `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`,
			Want: model.Error{Kind: model.ErrInvalid, Status: 413, Message: "maximum size"}},
		{Name: "rate limit", Status: 429, Header: map[string]string{"Retry-After": "7"}, Body: `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`,
			Want: model.Error{Kind: model.ErrRateLimited, Status: 429, RetryAfter: 7 * time.Second, Message: "slow down"}},
		{Name: "rate limit in ms", Status: 429, Header: map[string]string{"Retry-After-Ms": "1500", "Retry-After": "2"}, Body: ``,
			Want: model.Error{Kind: model.ErrRateLimited, Status: 429, RetryAfter: 1500 * time.Millisecond, Message: "Too Many Requests"}},
		{Name: "overloaded", Status: 529, Header: jsonBody, Body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
			Want: model.Error{Kind: model.ErrUnavailable, Status: 529, Message: "Overloaded"}},
		{Name: "a gateway's page", Status: 502, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>\n<h1>Bad Gateway</h1>\n</html>",
			Want: model.Error{Kind: model.ErrUnavailable, Status: 502, Message: "Bad Gateway"}},
		{Name: "a page", Status: 200, Header: map[string]string{"Content-Type": "text/html; charset=utf-8"}, Body: "<html>hello</html>",
			Want: model.Error{Kind: model.ErrProtocol, Status: 200, Message: "check the base URL"}},
		{Name: "a redirect", Status: 307, Header: map[string]string{"Location": "http://127.0.0.1:1/elsewhere"}, Body: "",
			Want: model.Error{Kind: model.ErrProtocol, Status: 307, Message: "redirects to http://127.0.0.1:1/elsewhere"}},
		{Name: "an empty stream", Status: 200, Header: map[string]string{"Content-Type": "text/event-stream"}, Body: "",
			Want: model.Error{Kind: model.ErrUnavailable, Message: "before the answer was complete"}},
		{Name: "no JSON", Status: 200, Header: map[string]string{"Content-Type": "text/event-stream"}, Body: "event: message_start\ndata: {\n\n",
			Want: model.Error{Kind: model.ErrProtocol, Message: "reading the answer"}},
		{Name: "a delta of no block", Status: 200, Header: map[string]string{"Content-Type": "text/event-stream"},
			Body: "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{}}\n\n",
			Want: model.Error{Kind: model.ErrUnavailable, Message: "before the answer was complete"}},
		{Name: "a late rate limit", Status: 200, Header: map[string]string{"Content-Type": "text/event-stream"},
			Body: "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow " + key + "\"}}\n\n",
			Want: model.Error{Kind: model.ErrRateLimited, Message: "slow [key]"}},
	})
}

// TestEnvironment has everything set that the SDK reads by default.
func TestEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "sk-stray", "ANTHROPIC_AUTH_TOKEN": "stray-token", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
		"ANTHROPIC_CUSTOM_HEADERS": "X-Stray: stray", "ANTHROPIC_PROFILE": "stray", "ANTHROPIC_LOG": "debug",
		"ANTHROPIC_OPEN_TELEMETRY": "true", "OPENAI_API_KEY": "sk-stray",
	} {
		t.Setenv(name, value)
	}
	for _, base := range []string{"", "/", "/v1", "/v1/"} {
		for _, want := range []string{key, ""} {
			server := modeltest.New(t, replaymodel.Script{{Text: replaymodel.Chunks{"hello"}}}, nil)
			m := anthropicmodel.New("claude-test", &anthropicmodel.Options{APIKey: want, BaseURL: server.URL + base})
			if _, err := modeltest.Collect(m.Stream(t.Context(), modeltest.Ask("hello"))); err != nil {
				t.Fatalf("base URL with %q: %v", base, err)
			}
			got := server.Received()[0]
			if header := fmt.Sprint(got.Header); got.Path != "/v1/messages" || got.Header.Get("X-Api-Key") != want ||
				strings.Contains(strings.ToLower(header), "stray") || got.Header.Get("Authorization") != "" {
				t.Errorf("base URL with %q, key %q: got the path %s and the header %v", base, want, got.Path, header)
			}
		}
	}
}

func TestName(t *testing.T) {
	if got, want := anthropicmodel.New("claude-test", nil).Name(), "anthropic/claude-test"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLongWindow: the mark of a long window is sent as the header of the beta, and the model keeps it in
// its name.
func TestLongWindow(t *testing.T) {
	for name, beta := range map[string]string{"claude-sonnet-4-5[1m]": model.LongBeta, "claude-sonnet-5-5[1M]": model.LongBeta, "claude-sonnet-4-5": ""} {
		server := modeltest.New(t, replaymodel.Script{{Text: replaymodel.Chunks{"hello"}}}, nil)
		m := anthropicmodel.New(name, &anthropicmodel.Options{APIKey: key, BaseURL: server.URL})
		if _, err := modeltest.Collect(m.Stream(t.Context(), modeltest.Ask("hello"))); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, plain := server.Received()[0], strings.ToLower(name)
		plain, _, _ = strings.Cut(plain, "[")
		if m.Name() != "anthropic/"+name || got.Header.Get("Anthropic-Beta") != beta || !strings.Contains(string(got.Body), `"model":"`+plain+`"`) {
			t.Errorf("%s as %s: sent %q and %s", name, m.Name(), got.Header.Get("Anthropic-Beta"), got.Body)
		}
	}
}

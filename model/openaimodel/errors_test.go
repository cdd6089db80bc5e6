package openaimodel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/openaimodel"
	"github.com/agentworker/worker/model/replaymodel"
)

// answering returns the URL of a server that gives one answer to all requests.
func answering(t *testing.T, status int, header map[string]string, body string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// call makes a call without retries that is to fail.
func call(t *testing.T, base string) *model.Error {
	t.Helper()
	m := openaimodel.New("gpt-test", &openaimodel.Options{APIKey: key, BaseURL: base, MaxRetries: new(int)})
	got, err := modeltest.Collect(m.Stream(t.Context(), ask("hello")))
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %+v, %v, want a *model.Error", got, err)
	}
	return e
}

func TestErrors(t *testing.T) {
	jsonBody := map[string]string{"Content-Type": "application/json"}
	events := map[string]string{"Content-Type": "text/event-stream"}
	for _, test := range []struct {
		name   string
		status int
		header map[string]string
		body   string
		want   model.Error // Message: a part of it
	}{
		{"key", 401, jsonBody, `{"error":{"message":"Incorrect API key provided: ` + key + `.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
			model.Error{Kind: model.ErrAuth, Status: 401, Message: "Incorrect API key provided: [key]."}},
		{"no money", 402, jsonBody, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`,
			model.Error{Kind: model.ErrAuth, Status: 402, Message: "Insufficient Balance"}},
		{"no quota", 429, jsonBody, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
			model.Error{Kind: model.ErrAuth, Status: 429, Message: "current quota"}},
		{"rate limit", 429, map[string]string{"Retry-After": "20"}, `{"error":{"message":"Rate limit reached\nfor gpt-test","type":"requests","code":"rate_limit_exceeded"}}`,
			model.Error{Kind: model.ErrRateLimited, Status: 429, RetryAfter: 20 * time.Second, Message: "Rate limit reached for gpt-test"}},
		{"bad request", 400, jsonBody, `{"error":{"message":"Unsupported parameter","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`,
			model.Error{Kind: model.ErrInvalid, Status: 400, Message: "Unsupported parameter"}},
		{"Ollama's text", 400, jsonBody, `{"error":"model does not support tools"}`,
			model.Error{Kind: model.ErrInvalid, Status: 400, Message: "model does not support tools"}},
		{"vLLM", 400, jsonBody, `{"object":"error","message":"This model's maximum context length is 8 tokens","type":"BadRequestError","param":null,"code":400}`,
			model.Error{Kind: model.ErrInvalid, Status: 400, Message: "maximum context length"}},
		{"Mistral", 422, jsonBody, `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","x"]}]}}`,
			model.Error{Kind: model.ErrInvalid, Status: 422, Message: "extra_forbidden"}},
		{"no path", 404, map[string]string{"Content-Type": "text/plain"}, "404 page not found\n",
			model.Error{Kind: model.ErrInvalid, Status: 404, Message: "404 page not found (check the model's name and the base URL http://127.0.0.1"}},
		{"server", 500, jsonBody, `{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}`,
			model.Error{Kind: model.ErrUnavailable, Status: 500, Message: "The server had an error"}},
		{"a gateway's page", 503, map[string]string{"Content-Type": "text/html"}, "<html>",
			model.Error{Kind: model.ErrUnavailable, Status: 503, Message: "Service Unavailable"}},
		{"nothing", 500, nil, "", model.Error{Kind: model.ErrUnavailable, Status: 500, Message: "Internal Server Error"}},
		{"a page", 200, map[string]string{"Content-Type": "text/html"}, "<html>",
			model.Error{Kind: model.ErrProtocol, Status: 200, Message: "check the base URL"}},
		{"an answer in one piece", 200, jsonBody, `{"object":"chat.completion","choices":[]}`,
			model.Error{Kind: model.ErrProtocol, Status: 200, Message: "application/json"}},
		{"a redirect", 308, map[string]string{"Location": "http://127.0.0.1:1/elsewhere"}, "",
			model.Error{Kind: model.ErrProtocol, Status: 308, Message: "redirects to http://127.0.0.1:1/elsewhere"}},
		{"an empty stream", 200, events, "", model.Error{Kind: model.ErrUnavailable, Message: "before the answer was complete"}},
		{"[DONE] without a finish reason", 200, events, "data: [DONE]\n\n",
			model.Error{Kind: model.ErrUnavailable, Message: "before the answer was complete"}},
		{"no JSON", 200, events, "data: {\n\n", model.Error{Kind: model.ErrProtocol, Message: "reading the answer"}},
		{"a late error", 200, events, `data: {"error":{"message":"slow ` + key + `","type":"requests","code":"rate_limit_exceeded"}}` + "\n\n",
			model.Error{Kind: model.ErrRateLimited, Message: "slow [key]"}},
		{"a late error of vLLM", 200, events, `data: {"object":"error","message":"bad","type":"BadRequestError","code":400}` + "\n\n",
			model.Error{Kind: model.ErrInvalid, Message: "bad"}},
		{"a late text", 200, events, `data: {"error":"llama runner process has terminated"}` + "\n\n",
			model.Error{Kind: model.ErrUnavailable, Message: "llama runner"}},
		{"DeepSeek has no room", 200, events, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"insufficient_system_resource"}]}` + "\n\n",
			model.Error{Kind: model.ErrUnavailable, Message: "insufficient_system_resource"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := call(t, answering(t, test.status, test.header, test.body))
			if e.Kind != test.want.Kind || e.Status != test.want.Status || e.RetryAfter != test.want.RetryAfter ||
				!strings.Contains(e.Message, test.want.Message) {
				t.Errorf("status %d, body %q:\ngot  %#v\nwant %#v", test.status, test.body, e, test.want)
			}
			for err := error(e); err != nil; err = errors.Unwrap(err) {
				if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, key) || strings.Contains(text, "\n") {
					t.Errorf("status %d, body %q: got %q, want one line without the key", test.status, test.body, text)
				}
			}
		})
	}
}

func TestNoServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	e := call(t, strings.Replace(server.URL, "http://", "http://user:secret@", 1))
	if e.Kind != model.ErrUnavailable || !strings.Contains(e.Message, "connection refused") || strings.Contains(e.Error(), "secret") {
		t.Errorf("got %v, want that the connection was refused, and no password", e)
	}
}

func TestClientTimeout(t *testing.T) {
	server := modeltest.New(t, replaymodel.Script{{Hang: true}}, nil)
	m := openaimodel.New("gpt-test", &openaimodel.Options{
		BaseURL: server.URL, HTTPClient: &http.Client{Timeout: 50 * time.Millisecond}, MaxRetries: new(int),
	})
	_, err := modeltest.Collect(m.Stream(t.Context(), ask("hello")))
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.ErrTimeout {
		t.Errorf("got %v, want kind timeout", err)
	}
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
	got, err := modeltest.Collect(m.Stream(t.Context(), ask("hello")))
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
	for part, err := range m.Stream(t.Context(), ask("hello")) {
		if retry, ok := part.(model.Retry); !ok || err != nil || retry.Wait != time.Minute {
			t.Errorf("got %+v, %v, want a retry in a minute", part, err)
		}
		break
	}
	if n := len(server.Received()); n != 1 {
		t.Errorf("%d requests, want 1: the loop was left", n)
	}

	m = openaimodel.New("gpt-test", &openaimodel.Options{BaseURL: "http://127.0.0.1:1", MaxRetries: new(1)})
	got, err = modeltest.Collect(m.Stream(t.Context(), ask("hello")))
	if want := []model.Retry{{Reason: model.ErrUnavailable, Try: 2, Tries: 2}}; err == nil || !slices.Equal(got.Retries, want) {
		t.Errorf("no server: got %+v, %v, want the retries %+v", got, err, want)
	}
}

func TestRetries(t *testing.T) {
	limited := func(times, afterMs int) replaymodel.Script {
		return replaymodel.Script{{
			Text:  replaymodel.Chunks{"at last"},
			Error: &replaymodel.Failure{Status: 429, Times: times, RetryAfterMs: afterMs},
		}}
	}
	one, hour := 1, int(time.Hour/time.Millisecond)
	for _, test := range []struct {
		name     string
		script   replaymodel.Script
		retries  *int
		timeout  time.Duration // of the context
		attempts int
		ok       bool
	}{
		{"the default is two", limited(2, 0), nil, time.Minute, 3, true},
		{"and no more", limited(3, 0), nil, time.Minute, 3, false},
		{"a wait is waited for", limited(1, 1), nil, time.Minute, 2, true},
		{"one", limited(2, 0), &one, time.Minute, 2, false},
		{"none", limited(1, 0), new(int), time.Minute, 1, false},
		{"a wait that is too long", limited(1, hour), nil, 2 * time.Hour, 1, false},
		{"a wait beyond the deadline", limited(1, 50_000), nil, 40 * time.Second, 1, false},
		{"not for a bad request", replaymodel.Script{{Error: &replaymodel.Failure{Status: 400}}}, nil, time.Minute, 1, false},
		{"not once the answer has begun", replaymodel.Script{{Text: replaymodel.Chunks{"a"}, Cut: true}}, nil, time.Minute, 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := modeltest.New(t, test.script, nil)
			m := openaimodel.New("gpt-test", &openaimodel.Options{BaseURL: server.URL, MaxRetries: test.retries})
			ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
			defer cancel()
			got, err := modeltest.Collect(m.Stream(ctx, ask("hello")))
			if attempts := len(server.Received()); attempts != test.attempts || (err == nil) != test.ok {
				t.Errorf("got %+v, %v after %d attempts, want %d and success %v", got, err, attempts, test.attempts, test.ok)
			}
		})
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
			if _, err := modeltest.Collect(m.Stream(t.Context(), ask("hello"))); err != nil {
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

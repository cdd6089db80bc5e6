package anthropicmodel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/anthropicmodel"
	"github.com/agentworker/worker/model/modeltest"
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
	m := anthropicmodel.New("claude-test", &anthropicmodel.Options{APIKey: key, BaseURL: base, MaxRetries: new(int)})
	got, err := modeltest.Collect(m.Stream(t.Context(), ask("hello")))
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %+v, %v, want a *model.Error", got, err)
	}
	return e
}

func TestErrors(t *testing.T) {
	jsonBody := map[string]string{"Content-Type": "application/json"}
	for _, test := range []struct {
		name   string
		status int
		header map[string]string
		body   string
		want   model.Error // Message: a part of it
	}{
		{"key", 401, jsonBody, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_1"}`,
			model.Error{Kind: model.ErrAuth, Status: 401, Message: "invalid x-api-key"}},
		{"an echoed key", 401, jsonBody, `{"type":"error","error":{"type":"authentication_error","message":"no such key:\n` + key + `"}}`,
			model.Error{Kind: model.ErrAuth, Status: 401, Message: "no such key: [key]"}},
		{"an echoed key in a text", 403, nil, "forbidden for " + key, model.Error{Kind: model.ErrAuth, Status: 403, Message: "forbidden for [key]"}},
		{"no money", 400, jsonBody, `{"type":"error","error":{"type":"billing_error","message":"Your credit balance is too low"}}`,
			model.Error{Kind: model.ErrAuth, Status: 400, Message: "credit balance"}},
		{"unknown model", 404, jsonBody, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}`,
			model.Error{Kind: model.ErrInvalid, Status: 404, Message: "model: claude-x (check the model's name and the base URL http://127.0.0.1"}},
		{"too long", 413, jsonBody, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`,
			model.Error{Kind: model.ErrInvalid, Status: 413, Message: "maximum size"}},
		{"rate limit", 429, map[string]string{"Retry-After": "7"}, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`,
			model.Error{Kind: model.ErrRateLimited, Status: 429, RetryAfter: 7 * time.Second, Message: "slow down"}},
		{"rate limit in ms", 429, map[string]string{"Retry-After-Ms": "1500", "Retry-After": "2"}, ``,
			model.Error{Kind: model.ErrRateLimited, Status: 429, RetryAfter: 1500 * time.Millisecond, Message: "Too Many Requests"}},
		{"overloaded", 529, jsonBody, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
			model.Error{Kind: model.ErrUnavailable, Status: 529, Message: "Overloaded"}},
		{"a gateway's page", 502, map[string]string{"Content-Type": "text/html"}, "<html>\n<h1>Bad Gateway</h1>\n</html>",
			model.Error{Kind: model.ErrUnavailable, Status: 502, Message: "Bad Gateway"}},
		{"a page", 200, map[string]string{"Content-Type": "text/html; charset=utf-8"}, "<html>hello</html>",
			model.Error{Kind: model.ErrProtocol, Status: 200, Message: "check the base URL"}},
		{"a redirect", 307, map[string]string{"Location": "http://127.0.0.1:1/elsewhere"}, "",
			model.Error{Kind: model.ErrProtocol, Status: 307, Message: "redirects to http://127.0.0.1:1/elsewhere"}},
		{"an empty stream", 200, map[string]string{"Content-Type": "text/event-stream"}, "",
			model.Error{Kind: model.ErrUnavailable, Message: "before the answer was complete"}},
		{"no JSON", 200, map[string]string{"Content-Type": "text/event-stream"}, "event: message_start\ndata: {\n\n",
			model.Error{Kind: model.ErrProtocol, Message: "reading the answer"}},
		{"a delta of no block", 200, map[string]string{"Content-Type": "text/event-stream"},
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{}}\n\n",
			model.Error{Kind: model.ErrProtocol, Message: "content block 3"}},
		{"a late rate limit", 200, map[string]string{"Content-Type": "text/event-stream"},
			"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow " + key + "\"}}\n\n",
			model.Error{Kind: model.ErrRateLimited, Message: "slow [key]"}},
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
	m := anthropicmodel.New("claude-test", &anthropicmodel.Options{
		BaseURL: server.URL, HTTPClient: &http.Client{Timeout: 50 * time.Millisecond}, MaxRetries: new(int),
	})
	_, err := modeltest.Collect(m.Stream(t.Context(), ask("hello")))
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.ErrTimeout {
		t.Errorf("got %v, want kind timeout", err)
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
			m := anthropicmodel.New("claude-test", &anthropicmodel.Options{BaseURL: server.URL, MaxRetries: test.retries})
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
			if _, err := modeltest.Collect(m.Stream(t.Context(), ask("hello"))); err != nil {
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

package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/replaymodel"
)

// Client says how an adapter is to call a server.
type Client struct {
	URL     string
	Key     string       // empty means none
	HTTP    *http.Client // nil means the adapter's
	Retries *int         // nil means the adapter's default
}

// Refusal is an answer that an adapter is to turn into an error.
type Refusal struct {
	Name   string
	Status int
	Header map[string]string
	Body   string
	Want   model.Error // its kind, status and wait; Message: a part of it
}

// Refusals holds an adapter to the errors of answers. No error may show the key, or
// have more than one line.
func Refusals(t *testing.T, key string, newModel func(Client) model.Model, tests []Refusal) {
	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for name, value := range test.Header {
					w.Header().Set(name, value)
				}
				w.WriteHeader(test.Status)
				_, _ = io.WriteString(w, test.Body)
			}))
			defer server.Close()
			e := failed(t, newModel(Client{URL: server.URL, Key: key, Retries: new(int)}))
			if e.Kind != test.Want.Kind || e.Status != test.Want.Status || e.RetryAfter != test.Want.RetryAfter ||
				!strings.Contains(e.Message, test.Want.Message) {
				t.Errorf("status %d, body %q:\ngot  %#v\nwant %#v", test.Status, test.Body, e, test.Want)
			}
			for err := error(e); err != nil; err = errors.Unwrap(err) {
				if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, key) || strings.Contains(text, "\n") {
					t.Errorf("status %d, body %q: got %q, want one line without the key", test.Status, test.Body, text)
				}
			}
		})
	}
}

// failed makes a call that is to fail, and returns its error.
func failed(t *testing.T, m model.Model) *model.Error {
	t.Helper()
	got, err := Collect(m.Stream(t.Context(), Ask("hello")))
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %+v, %v, want a *model.Error", got, err)
	}
	return e
}

// Adapter holds an adapter of a model API to what does not depend on the API: what
// becomes of servers that do not answer, how often a call is tried again, and that
// schemas are sent as they are.
func Adapter(t *testing.T, newModel func(Client) model.Model) {
	t.Run("no server", func(t *testing.T) {
		server := httptest.NewServer(http.NotFoundHandler())
		server.Close()
		e := failed(t, newModel(Client{URL: strings.Replace(server.URL, "http://", "http://user:secret@", 1), Retries: new(int)}))
		if e.Kind != model.ErrUnavailable || !strings.Contains(e.Message, "connection refused") || strings.Contains(e.Error(), "secret") {
			t.Errorf("got %v, want that the connection was refused, and no password", e)
		}
	})
	t.Run("client timeout", func(t *testing.T) {
		server := New(t, replaymodel.Script{{Hang: true}}, nil)
		e := failed(t, newModel(Client{URL: server.URL, HTTP: &http.Client{Timeout: 50 * time.Millisecond}, Retries: new(int)}))
		if e.Kind != model.ErrTimeout {
			t.Errorf("got %v, want kind timeout", e)
		}
	})
	t.Run("schema order", func(t *testing.T) { // the model writes properties in the order of the schema
		server := New(t, replaymodel.Script{{Text: replaymodel.Chunks{"hello"}}}, nil)
		schema := `{"type":"object","properties":{"z":{},"a":{}}}`
		req := Ask("hello")
		req.Tools = []model.ToolSpec{{Name: "a", InputSchema: json.RawMessage(schema)}}
		if _, err := Collect(newModel(Client{URL: server.URL}).Stream(t.Context(), req)); err != nil {
			t.Fatal(err)
		}
		if body := string(server.Received()[0].Body); !strings.Contains(body, schema) {
			t.Errorf("got %s, want the schema %s in it", body, schema)
		}
	})
	t.Run("retries", func(t *testing.T) { retries(t, newModel) })
}

func retries(t *testing.T, newModel func(Client) model.Model) {
	limited := func(times, afterMs int) replaymodel.Script {
		return replaymodel.Script{{
			Text:  replaymodel.Chunks{"at last"},
			Error: &replaymodel.Failure{Status: 429, Times: times, RetryAfterMs: afterMs},
		}}
	}
	hour := int(time.Hour / time.Millisecond)
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
		{"one", limited(2, 0), new(1), time.Minute, 2, false},
		{"none", limited(1, 0), new(int), time.Minute, 1, false},
		{"a wait that is too long", limited(1, hour), nil, 2 * time.Hour, 1, false},
		{"a wait beyond the deadline", limited(1, 50_000), nil, 40 * time.Second, 1, false},
		{"not for a bad request", replaymodel.Script{{Error: &replaymodel.Failure{Status: 400}}}, nil, time.Minute, 1, false},
		{"not once the answer has begun", replaymodel.Script{{Text: replaymodel.Chunks{"a"}, Cut: true}}, nil, time.Minute, 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := New(t, test.script, nil)
			ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
			defer cancel()
			got, err := Collect(newModel(Client{URL: server.URL, Retries: test.retries}).Stream(ctx, Ask("hello")))
			if attempts := len(server.Received()); attempts != test.attempts || (err == nil) != test.ok {
				t.Errorf("got %+v, %v after %d attempts, want %d and success %v", got, err, attempts, test.attempts, test.ok)
			}
		})
	}
}

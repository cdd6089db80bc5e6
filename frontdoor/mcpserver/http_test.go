package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/frontdoor/mcpserver"
	"github.com/agentworker/worker/model"
)

const webToken = "0123456789abcdef"

// web is a server over HTTP, as "worker serve" starts it.
type web struct {
	*env
	server *httpserver.Server
	stop   context.CancelFunc
	client *http.Client
}

func (e *env) web(t testing.TB, opts *mcpserver.HTTPOptions) *web {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	server, err := httpserver.Start(ctx, "127.0.0.1:0", httpserver.Options{
		Tasks: e.tasks, Sessions: e.sessions.Store(), Bus: e.bus, Token: webToken, MCP: e.server.HTTP(opts),
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections() // the server waits for one that was never used
		stop()
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
	})
	return &web{e, server, stop, &http.Client{Transport: authorized{transport}}}
}

// authorized sends the token with each request.
type authorized struct{ http.RoundTripper }

func (w authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+webToken)
	return w.RoundTripper.RoundTrip(r)
}

// connect connects a client of the SDK. It speaks version 2026-07-28, or the one before.
func (w *web) connect(t testing.TB, name, version string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	return connect(t, &mcp.StreamableClientTransport{Endpoint: w.server.URL() + "/mcp", HTTPClient: w.client}, name, version, opts)
}

var versions = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

// TestHTTPCall: a client of either generation lists, calls, and hears of
// another set of agents.
func TestHTTPCall(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			heard := make(chan struct{})
			e := newEnv(t, modelFunc(func(ctx context.Context, prompt string, n int) (model.Part, error) {
				<-heard
				return echo(ctx, prompt, n)
			}), 0, map[string]string{"aide.md": "---\ndescription: Helps.\n---\n"})
			w := e.web(t, nil)
			told := make(chan struct{}, 100)
			progress := newProgress()
			opts := progress.options()
			opts.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} }
			host := w.connect(t, "test-host", version, opts)
			if got := host.InitializeResult().ProtocolVersion; got != version {
				t.Errorf("version %s, want %s", got, version)
			}
			list, err := host.ListTools(t.Context(), nil)
			if err != nil || len(list.Tools) < 2 {
				t.Fatalf("tools %+v, %v", list, err)
			}
			waited := make(chan error, 1)
			go func() {
				waited <- progress.await(t.Context(), "tok", func(got []string) bool { return len(got) > 0 })
				close(heard)
			}()
			res, err := host.CallTool(t.Context(), withToken(call("aide", "p"), "tok"))
			if err := errors.Join(err, <-waited); err != nil || !strings.Contains(text(t, res), "answer to p") {
				t.Fatalf("%+v, %v", res, err)
			}
			path := filepath.Join(e.dir, "second.md")
			if err := errors.Join(os.WriteFile(path+".new", []byte("---\ndescription: Too.\n---\n"), 0o644), os.Rename(path+".new", path)); err != nil {
				t.Fatal(err)
			}
			<-told
			if res, err := host.CallTool(t.Context(), call("second", "q")); err != nil || !strings.Contains(text(t, res), "answer to q") {
				t.Errorf("%+v, %v", res, err)
			}
			// All calls of a client have one root session, which ends with it, or
			// where there are no sessions with the server.
			if err := host.Close(); err != nil {
				t.Error(err)
			}
			if version < "2026" {
				e.awaitStatuses(t, "second completed, aide completed, - completed")
			}
			w.stop()
			if err := w.server.Wait(); err != nil {
				t.Error(err)
			}
			if got, want := e.statuses(t), "second completed, aide completed, - completed"; got != want {
				t.Errorf("sessions: %s, want %s", got, want)
			}
		})
	}
}

// TestHTTPCancel: a call that the host gives up ends its child, in either
// generation.
func TestHTTPCancel(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			begun := make(chan string, 1)
			e := newEnv(t, hang(begun), 0, nil)
			host := e.web(t, nil).connect(t, "test-host", version, nil)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := host.CallTool(ctx, call("explore", "p"))
				done <- err
			}()
			<-begun
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			e.awaitStatuses(t, "explore cancelled, - running")
			if err := host.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// breaker is a transport whose connections a test can break.
type breaker struct {
	http.RoundTripper
	mu     sync.Mutex
	bodies []io.Closer
}

func (b *breaker) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	res, err := b.RoundTripper.RoundTrip(r.Clone(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	body := &breakable{res.Body, cancel}
	b.bodies = append(b.bodies, body)
	res.Body = body
	return res, nil
}

// breakAll breaks all connections, in the midst of what they carry.
func (b *breaker) breakAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, body := range b.bodies {
		_ = body.Close() // it may be closed
	}
	b.bodies = nil
}

type breakable struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *breakable) Close() error {
	b.cancel()
	return b.ReadCloser.Close()
}

// TestHTTPResume: a client whose connection breaks in the midst of a call comes
// back and gets the result of the same child.
func TestHTTPResume(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	e := newEnv(t, modelFunc(func(ctx context.Context, prompt string, n int) (model.Part, error) {
		close(begun)
		<-release
		return echo(ctx, prompt, n)
	}), 0, nil)
	w := e.web(t, nil)
	b := &breaker{RoundTripper: w.client.Transport}
	w.client.Transport = b
	host := w.connect(t, "test-host", "2025-11-25", nil)
	done := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, err := host.CallTool(t.Context(), call("explore", "p"))
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	<-begun
	b.breakAll()
	close(release)
	if res := <-done; res == nil || !strings.Contains(text(t, res), "answer to p") {
		t.Errorf("result %+v", res)
	}
	if err := host.Close(); err != nil {
		t.Error(err)
	}
	e.awaitStatuses(t, "explore completed, - completed")
}

// TestHTTPIdle: the session of a client that was idle for long ends, and the client gets an
// error when it comes back. A client with a running call is not idle.
func TestHTTPIdle(t *testing.T) {
	const idle = 300 * time.Millisecond
	begun := make(chan struct{})
	e := newEnv(t, modelFunc(func(ctx context.Context, prompt string, n int) (model.Part, error) {
		close(begun)
		select {
		case <-time.After(3 * idle):
			return echo(ctx, prompt, n)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}), 0, nil)
	w := e.web(t, &mcpserver.HTTPOptions{Idle: idle})
	// On a busy machine a client may be away for too long before it calls.
	id := callAndLeave(t, w, begun, func() string { return w.initialize(t, "away", "2025-06-18") }, callBody(7, "explore", "p"))
	e.awaitStatuses(t, "explore completed, - completed")
	if status, body := w.post(t.Context(), t, "2025-06-18", id, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); status != http.StatusNotFound {
		t.Errorf("a session that has ended: status %d, %s", status, body)
	}
}

// TestHTTPGivenUp: a client that gives up on a call because of its own time
// limit does not stop the child, whose result it can wait for.
func TestHTTPGivenUp(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	e := newEnv(t, modelFunc(func(ctx context.Context, prompt string, n int) (model.Part, error) {
		close(begun)
		<-release
		return echo(ctx, prompt, n)
	}), 0, nil)
	w := e.web(t, nil)
	const version = "2025-06-18"
	id := w.initialize(t, "patience", version)
	answers := make(chan string, 1)
	go func() {
		_, body := w.post(t.Context(), t, version, id, callBody(1, "explore", "p"))
		answers <- body
	}()
	<-begun
	if status, _ := w.post(t.Context(), t, version, id, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"McpError: MCP error -32001: Request timed out"}}`); status != http.StatusAccepted {
		t.Errorf("giving up: status %d", status)
	}
	child := regexp.MustCompile(`ses_\w+`).FindString(<-answers)
	if child == "" {
		t.Fatal("the answer names no session")
	}
	close(release)
	_, body := w.post(t.Context(), t, version, id, fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"task_wait","arguments":{"sessionId":%q}}}`, child))
	if !strings.Contains(body, "answer to p") {
		t.Errorf("task_wait: %s", body)
	}
	// Another client gets nothing of it.
	other := w.initialize(t, "patience", version)
	_, body = w.post(t.Context(), t, version, other, fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"task_result","arguments":{"sessionId":%q}}}`, child))
	if strings.Contains(body, "answer to p") || !strings.Contains(body, `"isError":true`) {
		t.Errorf("another client's task_result: %s", body)
	}
}

// TestHTTPApproval: the host's user is asked over HTTP, too, in either
// generation.
func TestHTTPApproval(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			e := setup{model: shell{}, rules: new(asking)}.open(t)
			host := e.web(t, nil).connect(t, "test-host", version, elicit(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow once"}}, nil
			}))
			res, err := host.CallTool(t.Context(), call("general", "echo hello"))
			if err != nil || !strings.Contains(text(t, res), "hello") {
				t.Errorf("%+v, %v", res, err)
			}
			if err := host.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestHTTPEndsTogether: a client that ends its session while the server ends is
// waited for, as all are.
func TestHTTPEndsTogether(t *testing.T) {
	begun, ending, let := make(chan struct{}), make(chan struct{}), make(chan struct{})
	e := newEnv(t, modelFunc(func(ctx context.Context, _ string, _ int) (model.Part, error) {
		close(begun)
		<-ctx.Done()
		close(ending)
		<-let
		return nil, context.Cause(ctx)
	}), 0, nil)
	door := e.server.HTTP(nil)
	send := func(method, id, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/mcp", strings.NewReader(body))
		r.Header.Set("Accept", accepts)
		r.Header.Set("Content-Type", "application/json")
		if id != "" {
			r.Header.Set("Mcp-Session-Id", id)
		}
		w := httptest.NewRecorder()
		door.ServeHTTP(w, r.WithContext(caller.WithIdentity(r.Context(), caller.OwnerIdentity)))
		return w
	}
	const begin = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	id := send("POST", "", begin).Header().Get("Mcp-Session-Id")
	var open sync.WaitGroup
	open.Go(func() { send("POST", id, callBody(1, "explore", "p")) })
	<-begun
	open.Go(func() { send("DELETE", id, "") })
	<-ending
	closed := make(chan struct{})
	go func() {
		door.Close()
		close(closed)
	}()
	for send("POST", "", begin).Code != http.StatusServiceUnavailable { // it is to end
	}
	close(let)
	<-closed
	if got, want := e.statuses(t), "explore cancelled, - completed"; got != want {
		t.Errorf("sessions when all is closed: %s, want %s", got, want)
	}
	open.Wait()
}

// TestHTTPShared: clients of one name share a root session where the protocol
// knows none, and learn nothing of each other's by that.
func TestHTTPShared(t *testing.T) {
	e := newEnv(t, modelFunc(echo), 0, nil)
	w := e.web(t, nil)
	own, other := w.connect(t, "same", "2026-07-28", nil), w.connect(t, "same", "2026-07-28", nil)
	id := callTool(t, own, "task", call("explore", "a secret").Arguments).Meta["sessionId"]
	if list, err := other.ListResources(t.Context(), nil); err != nil || len(list.Resources) > 0 {
		t.Errorf("the other one is shown %+v, %v", list, err)
	}
	records := e.records(t)
	if res, err := other.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "session://" + records[len(records)-1].ID}); err == nil {
		t.Errorf("the other one reads what all have asked: %+v", res.Contents)
	}
	if res, err := own.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: fmt.Sprintf("session://%v", id)}); err != nil || !strings.Contains(res.Contents[0].Text, "a secret") {
		t.Errorf("its own session: %+v, %v", res, err)
	}
	if err := errors.Join(own.Close(), other.Close()); err != nil {
		t.Error(err)
	}
}

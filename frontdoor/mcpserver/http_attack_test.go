package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/frontdoor/mcpserver"
)

const accepts = "application/json, text/event-stream"

func (w *web) request(ctx context.Context, t testing.TB, method, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, w.server.URL()+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", accepts)
	r.Header.Set("Content-Type", "application/json")
	return r
}

// do sends a request and returns the status and the body, as far as it came.
func (w *web) do(t testing.TB, r *http.Request) (int, string) {
	t.Helper()
	res, err := w.client.Do(r)
	if err != nil {
		if r.Context().Err() == nil {
			t.Error(err)
		}
		return 0, ""
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil && r.Context().Err() == nil {
		t.Error(err)
	}
	return res.StatusCode, string(body)
}

func (w *web) post(ctx context.Context, t testing.TB, version, session, body string) (int, string) {
	t.Helper()
	r := w.request(ctx, t, http.MethodPost, body)
	r.Header.Set("Mcp-Protocol-Version", version)
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	return w.do(t, r)
}

// callAndLeave makes a call in a session, and breaks off its connection once the call has
// begun. A call that is refused is made again. It returns the id of the session.
func callAndLeave[T any](t testing.TB, w *web, begun <-chan T, session func() string, call string) string {
	t.Helper()
	for {
		id, gone := session(), make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer close(gone)
			w.post(ctx, t, "2025-06-18", id, call)
		}()
		called := false
		select {
		case <-begun:
			called = true
		case <-gone:
		}
		cancel()
		<-gone
		if called {
			return id
		}
	}
}

// initialize begins a session by hand, and returns its id.
func (w *web) initialize(t testing.TB, name, version string) string {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":%q,"version":"1"}}}`, version, name)
	var id string
	for id == "" { // what was answered just now may still count as open
		res, err := w.client.Do(w.request(t.Context(), t, http.MethodPost, body))
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, res.Body)
		if err := errors.Join(err, res.Body.Close()); err != nil {
			t.Fatal(err)
		}
		id = res.Header.Get("Mcp-Session-Id")
		if id == "" && res.StatusCode != http.StatusServiceUnavailable {
			t.Fatalf("initialize: status %d", res.StatusCode)
		}
	}
	if status, _ := w.post(t.Context(), t, version, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); status != http.StatusAccepted {
		t.Fatalf("initialized: status %d", status)
	}
	return id
}

func callBody(id int, agent, prompt string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"task","arguments":{"description":"d","prompt":%q,"agentType":%q}}}`, id, prompt, agent)
}

// TestHTTPAttacks: a page in a browser, whoever has no token, and what is no
// MCP are refused, and leave nothing behind.
func TestHTTPAttacks(t *testing.T) {
	e := newEnv(t, modelFunc(echo), 0, nil)
	w := e.web(t, nil)
	id := w.initialize(t, "own", "2025-06-18")
	begin := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	tests := []struct {
		name, method, body string
		change             func(*http.Request)
		status             int
	}{
		{"another origin", "POST", begin, header("Origin", "https://evil.example"), 403},
		{"another origin on this machine", "POST", begin, header("Origin", "http://localhost:3000"), 403},
		{"a sandboxed page", "POST", begin, header("Origin", "null"), 403},
		{"a page's fetch", "POST", begin, header("Sec-Fetch-Site", "cross-site"), 403},
		{"a page that listens", "GET", "", header("Sec-Fetch-Site", "same-site"), 403},
		{"a preflight", "OPTIONS", "", header("Origin", "https://evil.example"), 403},
		{"a rebound name", "POST", begin, func(r *http.Request) { r.Host = "evil.example:7433" }, 403},
		{"a session without a token", "POST", callBody(1, "explore", "p"), header("Mcp-Session-Id", id), 401},
		{"another's session", "POST", callBody(1, "explore", "p"), header("Mcp-Session-Id", "GUESS"), 404},
		{"the end of another's session", "DELETE", "", header("Mcp-Session-Id", "GUESS"), 404},
		{"the end of clients without a session", "DELETE", "", header("Mcp-Session-Id", "sessionless MCP host x 1"), 404},
		{"another's stream", "GET", "", header("Mcp-Session-Id", "GUESS"), 404},
		{"no session", "POST", callBody(1, "explore", "p"), nil, 400},
		{"no session to listen to", "GET", "", nil, 400},
		{"no session to end", "DELETE", "", nil, 400},
		{"rubbish", "POST", "rubbish", nil, 400},
		{"half a message", "POST", begin[:60], nil, 400},
		{"a batch", "POST", "[" + begin + "," + begin + "]", nil, 400},
		{"a form", "POST", begin, header("Content-Type", "text/plain"), 415},
		{"no stream accepted", "POST", begin, header("Accept", "application/json"), 400},
		{"an unknown version", "POST", begin, header("Mcp-Protocol-Version", "2020-01-01"), 400},
		{"a version to come", "POST", begin, header("Mcp-Protocol-Version", "2099-01-01"), 400},
		{"a session's name for one that has none", "POST", callBody(1, "explore", "p"), func(r *http.Request) {
			r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
			r.Header.Set("Mcp-Session-Id", id)
		}, 400},
		{"to end what has no session", "DELETE", "", header("Mcp-Protocol-Version", "2026-07-28"), 405},
		{"10 MiB", "POST", callBody(1, "explore", strings.Repeat("x", 10<<20)), header("Mcp-Session-Id", id), 413},
		{"10 MiB without a session", "POST", callBody(1, "explore", strings.Repeat("x", 10<<20)), header("Mcp-Protocol-Version", "2026-07-28"), 413},
		{"another method", "PUT", begin, nil, 400},
		{"an event that never was", "GET", "", func(r *http.Request) {
			r.Header.Set("Mcp-Session-Id", id)
			r.Header.Set("Last-Event-ID", "NOSUCH_3")
		}, 400},
	}
	for _, tt := range tests {
		r := w.request(t.Context(), t, tt.method, tt.body)
		if tt.change != nil {
			tt.change(r)
		}
		client := w.client
		if tt.status == http.StatusUnauthorized {
			client = &http.Client{Transport: w.client.Transport.(authorized).RoundTripper}
		}
		status, body := (&web{client: client}).do(t, r)
		if status != tt.status {
			t.Errorf("%s: status %d, want %d: %.300s", tt.name, status, tt.status, body)
		}
	}
	for _, auth := range []string{"", "Bearer ", "Bearer wrong", "Bearer " + webToken + "0", "Basic " + webToken, webToken} {
		r := w.request(t.Context(), t, "POST", begin)
		r.Header.Set("Authorization", auth)
		if status, body := (&web{client: &http.Client{Transport: w.client.Transport.(authorized).RoundTripper}}).do(t, r); status != http.StatusUnauthorized {
			t.Errorf("authorization %q: status %d: %s", auth, status, body)
		}
	}
	// The one that is in order goes on.
	if status, body := w.post(t.Context(), t, "2025-06-18", id, callBody(9, "explore", "p")); status != http.StatusOK || !strings.Contains(body, "answer to p") {
		t.Errorf("the session after all that: status %d, %s", status, body)
	}
	if got, want := e.statuses(t), "explore completed, - running"; got != want {
		t.Errorf("sessions: %s, want %s", got, want)
	}
}

// TestHTTPCapacity: so many clients, and no more: one that is idle makes room, one
// that works does not; and so many requests of one.
func TestHTTPCapacity(t *testing.T) {
	begun := make(chan string, 10)
	e := newEnv(t, hang(begun), 0, nil)
	w := e.web(t, &mcpserver.HTTPOptions{Clients: 2, Requests: 2})
	const version = "2025-06-18"
	works := w.initialize(t, "works", version)
	var calls sync.WaitGroup
	start := func(session string, id int) {
		calls.Go(func() { w.post(t.Context(), t, version, session, callBody(id, "explore", "p")) })
		<-begun
	}
	start(works, 1)
	idle, err := mcp.NewClient(&mcp.Implementation{Name: "idle", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: w.server.URL() + "/mcp", HTTPClient: w.client, DisableStandaloneSSE: true},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	third := w.initialize(t, "third", version)
	if _, err := idle.ListTools(t.Context(), nil); !errors.Is(err, mcp.ErrSessionMissing) {
		t.Errorf("the idle one: %v, want %v", err, mcp.ErrSessionMissing)
	}
	start(third, 1)
	r := w.request(t.Context(), t, "POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	if status, body := w.do(t, r); status != http.StatusServiceUnavailable {
		t.Errorf("one too many: status %d, %s", status, body)
	}
	start(works, 2)
	if status, body := w.post(t.Context(), t, version, works, callBody(3, "explore", "r")); status != http.StatusTooManyRequests {
		t.Errorf("one request too many: status %d, %s", status, body)
	}
	// The end of the server cancels and answers them.
	w.stop()
	if err := w.server.Wait(); err != nil {
		t.Error(err)
	}
	calls.Wait()
	if got := e.statuses(t); strings.Contains(got, "running") {
		t.Errorf("sessions after the end: %s", got)
	}
}

// TestHTTPBounds: what runs for clients that do not wait for it is bounded, by number and
// by bytes. A call can be cancelled all the same, and makes room.
func TestHTTPBounds(t *testing.T) {
	const version, size = "2025-06-18", 100_000
	for name, opts := range map[string]*mcpserver.HTTPOptions{"calls": {Calls: 3}, "bytes": {Bytes: 3*size + size/2}} {
		t.Run(name, func(t *testing.T) {
			begun := make(chan string, 10)
			e := newEnv(t, hang(begun), 0, nil)
			w := e.web(t, opts)
			id := w.initialize(t, "leaves", version)
			refused := func() bool {
				t.Helper()
				status, body := w.post(t.Context(), t, version, id, callBody(9, "nosuch", strings.Repeat("x", size)))
				if status != http.StatusOK && status != http.StatusTooManyRequests {
					t.Fatalf("status %d, %s", status, body)
				}
				return status == http.StatusTooManyRequests
			}
			for n := range 3 {
				callAndLeave(t, w, begun, func() string { return id }, callBody(n+1, "explore", strings.Repeat("x", size)))
			}
			if !refused() {
				t.Error("one more is taken")
			}
			if status, body := w.post(t.Context(), t, version, id, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"stopped by the user"}}`); status != http.StatusAccepted {
				t.Fatalf("cancelling one: status %d, %s", status, body)
			}
			for refused() && t.Context().Err() == nil { // it takes a moment to end
			}
		})
	}
}

// pipes is a listener without buffers: what is not read can't be written.
type pipes struct{ conns chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	if conn, ok := <-p.conns; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	own, theirs := net.Pipe()
	p.conns <- theirs
	return own, nil
}

// TestHTTPSlowReader: a client that reads nothing holds up neither another one
// nor, for longer than it is given, the end.
func TestHTTPSlowReader(t *testing.T) {
	e := newEnv(t, modelFunc(echo), 0, nil)
	door := e.server.HTTP(&mcpserver.HTTPOptions{Grace: time.Millisecond})
	listener := pipes{make(chan net.Conn)}
	server := &http.Server{Handler: door, BaseContext: func(net.Listener) context.Context {
		return caller.WithIdentity(t.Context(), caller.OwnerIdentity)
	}}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	begin := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"slow","version":"1"}}}`
	for _, body := range []string{begin, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`} {
		conn, err := listener.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		version := ""
		if body != begin {
			version = "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n"
		}
		if _, err := fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", accepts, version, len(body), body); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); err != nil { // the answer has begun
			t.Fatal(err)
		}
	}

	transport := &http.Transport{DialContext: listener.dial}
	client := mcp.NewClient(&mcp.Implementation{Name: "quick", Version: "1"}, nil)
	host, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: "http://localhost/mcp", HTTPClient: &http.Client{Transport: transport}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := host.CallTool(t.Context(), call("explore", "p")); err != nil || !strings.Contains(text(t, res), "answer to p") {
		t.Errorf("another client: %+v, %v", res, err)
	}
	if err := host.Close(); err != nil {
		t.Error(err)
	}
	door.Close()
	transport.CloseIdleConnections()
	close(listener.conns)
	<-served // the listener is at its end
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if got, want := e.statuses(t), "explore completed, - completed"; got != want {
		t.Errorf("sessions: %s, want %s", got, want)
	}
}

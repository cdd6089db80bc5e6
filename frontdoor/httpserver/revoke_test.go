package httpserver_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/httpserver/page"
	"github.com/agentworker/worker/frontdoor/httpserver/tokens"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/record"
)

// openMCP is an MCP whose answers end when their clients go.
type openMCP struct{}

func (openMCP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	if err := http.NewResponseController(w).Flush(); err == nil {
		<-r.Context().Done()
	}
}

func (openMCP) Identities() []caller.Identity { return nil }
func (openMCP) End(caller.Identity)           {}
func (openMCP) Close()                        {}

// lines takes a log, line by line.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// TestRevoked: when a token is removed, all that is open with it ends: streams, also of MCP
// and of the page, and a call that waits. The call's task goes on. What others have open
// goes on.
func TestRevoked(t *testing.T) {
	file, texts := named(t)
	g, ends := newGate(), make(lines, 100)
	e := newEnv(t, g.model, httpserver.Options{
		Tokens: tokens.Open(file, slog.New(slog.DiscardHandler)), Page: &page.Options{}, MCP: openMCP{}, Logger: slog.New(slog.NewTextHandler(ends, nil)),
	})
	others := e.open(e.request("POST", "/v1/tasks", call))
	<-g.started
	root := others.resp.Header.Get("Agent-Session")
	open := []*stream{
		e.open(e.with(texts["read"], "GET", "/v1/sessions/"+root+"/events", "")),
		e.open(e.with(texts["read"], "GET", "/page/events", "")),
		e.open(e.with(texts["read"], "GET", "/mcp", "")),
		e.open(e.with(texts["run"], "POST", "/v1/tasks", call)),
	}
	<-g.started
	waited := make(chan error, 1)
	waits := e.with(texts["run"], "POST", "/v1/tasks?onDisconnect=continue", call)
	go func() {
		resp, err := e.client.Do(waits)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		waited <- err
	}()
	<-g.started
	for _, name := range []string{"read", "run"} {
		if err := tokens.Remove(file, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range open {
		s.rest()
	}
	for n := 0; n < len(open)+1; {
		if strings.Contains(<-ends, "an open request ends") {
			n++
		}
	}
	if r, err := e.sessions.Index.Get(t.Context(), root); err != nil || r.Status.Ended() {
		t.Errorf("%+v, %v: the session that was followed has ended", r, err)
	}
	if r, err := e.sessions.Index.Get(t.Context(), open[3].resp.Header.Get("Agent-Session")); err != nil || r.Status.Ended() {
		t.Errorf("%+v, %v: the task whose stream was cut has ended", r, err)
	}
	close(g.open)
	if err := <-waited; err == nil {
		t.Error("who waited for a task got its document")
	}
	events := others.rest()
	if last := events[len(events)-1]; last.Event != "task_result" {
		t.Errorf("the stream of the token that counts ends with %+v", last)
	}
	if r := e.await(open[3].resp.Header.Get("Agent-Session")); r.Status != record.Completed {
		t.Errorf("the task whose stream was cut is %s", r.Status)
	}
}

// TestWrongTokens: an address that sends wrong tokens is told to wait, and not that they
// are wrong. A right token counts all the same, and who has none is not counted.
func TestWrongTokens(t *testing.T) {
	var log bytes.Buffer
	e := newEnv(t, answer("x"), httpserver.Options{Page: &page.Options{}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 30 {
		if resp, _ := e.do(e.bare("GET", "/v1/sessions")); resp.StatusCode != http.StatusUnauthorized {
			t.Fatalf("without a token: status %d", resp.StatusCode)
		}
	}
	wrong := []func() *http.Request{
		func() *http.Request { return e.with("wrong", "GET", "/v1/sessions", "") },
		func() *http.Request { return e.with("wrong", "POST", "/mcp", "{}") },
		func() *http.Request {
			r := e.bare("GET", "/")
			r.AddCookie(&http.Cookie{Name: page.CookieName(r.URL.Host), Value: "9999999999.x..x"})
			return r
		},
	}
	for i := range 24 {
		resp, body := e.do(wrong[i%len(wrong)]())
		want, code := http.StatusUnauthorized, "unauthorized"
		if i >= 20 {
			want, code = http.StatusTooManyRequests, "too_many_attempts"
		}
		if resp.StatusCode != want || errorCode(t, body) != code || (resp.Header.Get("Retry-After") != "") != (i >= 20) {
			t.Errorf("attempt %d: status %d: %s", i+1, resp.StatusCode, body)
		}
		if resp, _ := e.do(e.request("GET", "/v1/sessions", "")); resp.StatusCode != http.StatusOK {
			t.Fatalf("with the right token: status %d", resp.StatusCode)
		}
	}
	e.stop()
	if err := e.server.Wait(); err != nil || strings.Count(log.String(), "too many wrong tokens") != 1 {
		t.Errorf("%v: the log says %s", err, &log)
	}
}

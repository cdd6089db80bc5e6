package httpserver_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/httpserver/page"
	"github.com/agentworker/worker/frontdoor/httpserver/tokens"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

// named are a file of tokens, one for each scope with the scope's name, and their texts.
func named(t *testing.T) (path string, texts map[string]string) {
	t.Helper()
	path, texts = filepath.Join(t.TempDir(), "serve.tokens"), make(map[string]string)
	for _, scope := range []string{"read", "run", "approve"} {
		text, err := tokens.Add(path, scope, []tokens.Scope{tokens.Scope(scope)})
		if err != nil {
			t.Fatal(err)
		}
		texts[scope] = text
	}
	return path, texts
}

// with is a request with another token.
func (e *env) with(token, method, path, body string) *http.Request {
	r := e.request(method, path, body)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// TestScopes: a named token allows what its scope says and nothing else, until it is
// removed. Whatever it does bears its name.
func TestScopes(t *testing.T) {
	file, texts := named(t)
	log := slog.New(slog.DiscardHandler)
	e := newEnv(t, answer("x"), httpserver.Options{Tokens: tokens.Open(file, log), Page: &page.Options{}, Profiles: true})
	for _, tt := range []struct{ method, path, body, scope string }{
		{"GET", "/v1/sessions", "", "read"},
		{"GET", "/v1/approvals", "", "read"},
		{"GET", "/healthz", "", "read"},
		{"GET", "/", "", "read"},
		{"POST", "/v1/tasks/list", "{}", "read"},
		{"POST", "/v1/page/links", "", "read"},
		{"POST", "/v1/tasks", call, "run"},
		{"POST", "/v1/tasks/stop", "{}", "run"},
		{"DELETE", "/v1/sessions/ses_none", "", "run"},
		{"GET", "/v1/sessions/ses_none/export?format=md", "", "read"},
		{"POST", "/v1/sessions/ses_none/apply", "", "run"},
		{"POST", "/v1/sessions/ses_none/discard", "", "run"},
		{"POST", "/v1/sessions/ses_none/summary", "", "run"},
		{"POST", "/v1/approvals", `{"approvalId":"apr_none","approve":true}`, "approve"},
		{"POST", "/page/approvals", `{"approvalId":"apr_none","answer":"once"}`, "approve"},
	} {
		for scope, text := range texts {
			resp, body := e.do(e.with(text, tt.method, tt.path, tt.body))
			if refused := resp.StatusCode == http.StatusForbidden; refused == (scope == tt.scope) || refused && errorCode(t, body) != "forbidden_scope" {
				t.Errorf("%s %s with %s: status %d: %.200s", tt.method, tt.path, scope, resp.StatusCode, body)
			}
		}
	}
	for _, text := range texts {
		if resp, _ := e.do(e.with(text, "GET", "/debug/pprof/cmdline", "")); resp.StatusCode != http.StatusForbidden {
			t.Errorf("pprof with a named token: status %d", resp.StatusCode)
		}
	}
	if resp, body := e.do(e.request("GET", "/debug/pprof/cmdline", "")); resp.StatusCode != http.StatusOK || len(body) == 0 {
		t.Errorf("pprof: status %d", resp.StatusCode)
	}
	_, body := e.do(e.with(texts["run"], "POST", "/v1/tasks", call))
	if _, text := e.do(e.request("GET", "/metrics", "")); !bytes.Contains(text, []byte("worker_model_calls_total 2\n")) || !bytes.Contains(text, []byte("worker_store_up 1\n")) {
		t.Errorf("the metrics of two tasks: %s", text)
	}
	if r := e.await(decode[taskt.Document](t, body).ParentID); r.Description != `HTTP task explore with the token "run"` {
		t.Errorf("the caller's session is %q", r.Description)
	}
	a := &approval.Approval{ID: record.NewID("apr"), SessionID: "ses_x", Path: event.Path{{SessionID: "ses_x"}}, Tool: "touch", AlwaysPatterns: []string{"it"}}
	if err := e.sessions.Approvals.Open(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if resp, _ := e.do(e.with(texts["approve"], "POST", "/page/approvals", `{"approvalId":"`+a.ID+`","answer":"always"}`)); resp.StatusCode != http.StatusForbidden {
		t.Errorf("always: status %d", resp.StatusCode)
	}
	_, body = e.do(e.with(texts["approve"], "POST", "/v1/approvals", `{"approvalId":"`+a.ID+`","approve":true}`))
	if got := decode[approval.Approval](t, body); got.AnsweredBy != `an HTTP client with the token "approve"` {
		t.Errorf("answered by %q", got.AnsweredBy)
	}
	if err := tokens.Remove(file, "read"); err != nil {
		t.Fatal(err)
	}
	if resp, _ := e.do(e.with(texts["read"], "GET", "/v1/sessions", "")); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a token that was removed: status %d", resp.StatusCode)
	}
}

// TestPageScopes: a browser that logs in by the link of a named token has its scopes, and
// is logged out with it. Another token of the name does not admit it again.
func TestPageScopes(t *testing.T) {
	file, texts := named(t)
	e := newEnv(t, answer("x"), httpserver.Options{Tokens: tokens.Open(file, slog.New(slog.DiscardHandler)), Page: &page.Options{}})
	_, body := e.do(e.with(texts["read"], "POST", "/v1/page/links", ""))
	link := decode[struct{ URL string }](t, body).URL
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	e.client.Jar = jar
	if resp, body := e.do(e.bare("GET", link[len(e.server.URL()):])); resp.StatusCode != http.StatusOK || len(resp.Cookies()) != 1 {
		t.Fatalf("status %d: %s", resp.StatusCode, body)
	}
	status := func(method, path, body string) int {
		t.Helper()
		r := e.request(method, path, body)
		r.Header.Del("Authorization")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		resp, _ := e.do(r)
		return resp.StatusCode
	}
	if _, body := e.do(e.bare("GET", "/")); !bytes.Contains(body, []byte(`<meta name="scopes" content="read">`)) || !bytes.Contains(body, []byte("read may read<")) {
		t.Errorf("the page does not say what its user may do: %s", body)
	}
	if got := status("GET", "/v1/sessions", ""); got != http.StatusOK {
		t.Errorf("reading: %d", got)
	}
	if got := status("POST", "/v1/tasks", call); got != http.StatusForbidden {
		t.Errorf("a task: %d", got)
	}
	if got := status("POST", "/page/approvals", `{"approvalId":"x","answer":"deny"}`); got != http.StatusForbidden {
		t.Errorf("an answer: %d", got)
	}
	cookie := jar.Cookies(e.bare("GET", "/").URL)[0]
	parts := strings.Split(cookie.Value, ".")
	for _, name := range []string{"", "run"} {
		forged := strings.Join([]string{parts[0], parts[1], name, parts[3]}, ".")
		r := e.bare("GET", "/v1/sessions")
		e.client.Jar = nil
		r.AddCookie(&http.Cookie{Name: cookie.Name, Value: forged})
		if resp, _ := e.do(r); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("the cookie in the name of %q: %d", name, resp.StatusCode)
		}
		e.client.Jar = jar
	}
	if err := tokens.Remove(file, "read"); err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Add(file, "read", []tokens.Scope{"read", "run", "approve"}); err != nil {
		t.Fatal(err)
	}
	if got := status("GET", "/v1/sessions", ""); got != http.StatusUnauthorized {
		t.Errorf("with the cookie of a token that was removed: %d", got)
	}
}

// TestNamedLog: the log says what was done with a named token, and has no token.
func TestNamedLog(t *testing.T) {
	file, texts := named(t)
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	e := newEnv(t, answer("x"), httpserver.Options{Tokens: tokens.Open(file, logger), Logger: logger})
	e.do(e.with(texts["run"], "POST", "/v1/tasks/stop", "{}"))
	e.do(e.with(texts["read"], "POST", "/v1/tasks/stop", "{}"))
	e.do(e.with("wrong", "POST", "/v1/tasks/stop", "{}"))
	e.stop()
	if err := e.server.Wait(); err != nil {
		t.Fatal(err)
	}
	said := log.String()
	for _, want := range []string{`a named token was used" token=run`, `a named token was refused" token=read`} {
		if !strings.Contains(said, want) {
			t.Errorf("the log lacks %s: %s", want, said)
		}
	}
	if strings.Contains(said, texts["run"]) || strings.Contains(said, texts["read"]) {
		t.Errorf("the log has a token: %s", said)
	}
}

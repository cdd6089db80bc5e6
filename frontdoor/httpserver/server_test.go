package httpserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }

func TestTask(t *testing.T) {
	e := newEnv(t, answer("found ", "it\n"), httpserver.Options{})
	resp, body := e.do(e.request("POST", "/v1/tasks", call))
	doc := decode[taskt.Document](t, body)
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("status %d, %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	if doc.Type != "task_result" || doc.Agent != "explore" || doc.Status != record.Completed || doc.Text != "found it\n" ||
		doc.Result != "<task_result agent=\"explore\">\nfound it\n</task_result>" || doc.Steps != 1 || doc.SessionID == "" ||
		doc.ParentID == "" || doc.ParentID != resp.Header.Get("Agent-Session") {
		t.Errorf("document %s, session %s", body, resp.Header.Get("Agent-Session"))
	}
	if !strings.Contains(string(body), `"result":"<task_result agent=`) {
		t.Errorf("the element is not readable: %s", body)
	}
	for _, id := range []string{doc.SessionID, doc.ParentID} {
		if r := e.await(id); r.Status != record.Completed {
			t.Errorf("session %s is %s", id, r.Status)
		}
	}
	if r := e.await(doc.SessionID); r.Description != "a look" {
		t.Errorf("record %+v", r)
	}
}

// TestFailedTask: a task that fails is an answer.
func TestFailedTask(t *testing.T) {
	e := newEnv(t, answer(), httpserver.Options{})
	doc := e.run()
	if doc.Type != "task_error" || doc.Status != record.Failed || doc.Error == "" || doc.Text != "" ||
		!strings.HasPrefix(doc.Result, `<task_error agent="explore">`) {
		t.Errorf("document %+v", doc)
	}
}

func TestErrors(t *testing.T) {
	e := newEnv(t, answer("x"), httpserver.Options{})
	big := `{"prompt":"` + strings.Repeat("x", 8<<20) + `"}`
	tests := []struct {
		method, path, body, kind string
		status                   int
		code, says               string
	}{
		{"POST", "/v1/tasks", `rubbish`, "application/json", 400, "bad_request", "can't stand at byte 1"},
		{"POST", "/v1/tasks", ``, "application/json", 400, "bad_request", ""},
		{"POST", "/v1/tasks", `[]`, "application/json", 400, "bad_request", ""},
		{"POST", "/v1/tasks", `null`, "application/json", 400, "bad_request", "not a JSON object"},
		{"POST", "/v1/tasks", call + `{}`, "application/json", 400, "bad_request", "not JSON"},
		{"POST", "/v1/tasks", `{"prompt":"p","agentType":"explore","sudo":true}`, "application/json", 400, "bad_request", "sudo"},
		{"POST", "/v1/tasks", `{"prompt":" ","agentType":"explore"}`, "application/json", 400, "bad_request", "prompt"},
		{"POST", "/v1/tasks", `{"prompt":1,"agentType":"explore"}`, "application/json", 400, "bad_request", "prompt has to be a text, not a number"},
		{"POST", "/v1/tasks", `{"prompt":"p","agentType":"nobody"}`, "application/json", 422, "unknown_agent", "explore, general"},
		{"POST", "/v1/tasks", big, "application/json", 413, "too_large", "8388608"},
		{"POST", "/v1/tasks", call, "text/plain", 415, "unsupported_media_type", "application/json"},
		{"POST", "/v1/tasks", call, "", 415, "unsupported_media_type", "application/json"},
		{"POST", "/v1/tasks", call, "application/json; charset=utf-8", 200, "", ""},
		{"GET", "/v1/tasks", "", "", 405, "method_not_allowed", "takes POST"},
		{"PUT", "/v1/sessions/ses_x", "", "", 405, "method_not_allowed", "takes GET or DELETE"},
		{"GET", "/", "", "", 404, "not_found", "/"},
		{"GET", "/v1/sessions/", "", "", 404, "not_found", ""},
		{"GET", "/v1/sessions?limit=0", "", "", 400, "bad_request", "1 to 1000"},
		{"GET", "/v1/sessions?limit=many", "", "", 400, "bad_request", "1 to 1000"},
		{"GET", "/v1/sessions?cursor=garbled", "", "", 400, "bad_request", "it is no cursor"},
		{"GET", "/v1/sessions/ses_none", "", "", 404, "not_found", "no such session"},
		{"GET", "/v1/sessions/ses_", "", "", 404, "not_found", "no such session"}, // the start of two ids
		{"GET", "/v1/sessions/ses_%24", "", "", 404, "not_found", "no such session"},
		{"GET", "/v1/sessions/*", "", "", 404, "not_found", "no such session"},
		{"GET", "/v1/sessions/%2e%2e%2fx", "", "", 404, "not_found", ""},
		{"GET", "/v1/sessions/ses_none/events", "", "", 404, "not_found", "no such session"},
		{"GET", "/v1/sessions/ses_none/events?from=-1", "", "", 400, "bad_request", "from="},
	}
	for _, tt := range tests {
		r := e.request(tt.method, tt.path, tt.body)
		r.Header.Set("Content-Type", tt.kind)
		resp, body := e.do(r)
		name := tt.method + " " + tt.path + " " + tt.body[:min(60, len(tt.body))]
		if resp.StatusCode != tt.status || !strings.Contains(string(body), tt.says) {
			t.Errorf("%s: status %d %s, want %d %q", name, resp.StatusCode, body, tt.status, tt.says)
			continue
		}
		kind := "application/problem+json"
		if tt.status == http.StatusOK {
			kind = "application/json"
		}
		if resp.Header.Get("Content-Type") != kind || !json.Valid(body) || errorCode(t, body) != tt.code {
			t.Errorf("%s: %s %s, want JSON with the code %s", name, resp.Header.Get("Content-Type"), body, tt.code)
		}
		if tt.status == 405 && resp.Header.Get("Allow") == "" {
			t.Errorf("%s: no Allow header", name)
		}
	}
	records, err := e.sessions.Index.List(t.Context())
	if err != nil || len(records) != 2 {
		t.Errorf("%d sessions, %v, want those of the one call that was let in", len(records), err)
	}
}

// TestGuard: only a program of this machine with the token gets anywhere, and
// no page in a browser does.
func TestGuard(t *testing.T) {
	e := newEnv(t, answer("x"), httpserver.Options{})
	addr := strings.TrimPrefix(e.server.URL(), "http://")
	_, port, _ := strings.Cut(addr, ":")
	tests := []struct {
		name, host, auth string
		header           http.Header
		status           int
		code             string
	}{
		{"as it should be", addr, "Bearer " + token, nil, 200, ""},
		{"the scheme in other letters", addr, "bearer " + token, nil, 200, ""},
		{"by name", "localhost:" + port, "Bearer " + token, nil, 200, ""},
		{"by name in other letters", "LocalHost:" + port, "Bearer " + token, nil, 200, ""},
		{"without a port", "localhost", "Bearer " + token, nil, 200, ""},
		{"through a tunnel", "localhost:9999", "Bearer " + token, nil, 200, ""},
		{"IPv6", "[::1]:" + port, "Bearer " + token, nil, 200, ""},
		{"IPv6 without a port", "[::1]", "Bearer " + token, nil, 200, ""},
		{"our own page", addr, "Bearer " + token, http.Header{"Origin": {"http://" + addr}, "Sec-Fetch-Site": {"same-origin"}}, 200, ""},
		{"no token", addr, "", nil, 401, "unauthorized"},
		{"an empty token", addr, "Bearer ", nil, 401, "unauthorized"},
		{"a wrong token", addr, "Bearer " + token[1:] + "0", nil, 401, "unauthorized"},
		{"part of the token", addr, "Bearer " + token[1:], nil, 401, "unauthorized"},
		{"more than the token", addr, "Bearer " + token + " ", nil, 200, ""}, // white space around a value is no part of it
		{"more than the token", addr, "Bearer " + token + "0", nil, 401, "unauthorized"},
		{"another scheme", addr, "Basic " + token, nil, 401, "unauthorized"},
		{"no scheme", addr, token, nil, 401, "unauthorized"},
		{"a rebound name", "evil.example:" + port, "Bearer " + token, nil, 403, "forbidden_host"},
		{"a rebound name and its origin", "evil.example:" + port, "Bearer " + token, http.Header{"Origin": {"http://evil.example:" + port}, "Sec-Fetch-Site": {"same-origin"}}, 403, "forbidden_host"},
		{"a name that looks like ours", "127.0.0.1.evil.example:" + port, "Bearer " + token, nil, 403, "forbidden_host"},
		{"a name below ours", "x.localhost:" + port, "Bearer " + token, nil, 403, "forbidden_host"},
		{"another machine", "192.0.2.1:" + port, "Bearer " + token, nil, 403, "forbidden_host"},
		{"every machine", "0.0.0.0:" + port, "Bearer " + token, nil, 403, "forbidden_host"},
		{"a page elsewhere", addr, "Bearer " + token, http.Header{"Origin": {"https://evil.example"}}, 403, "forbidden_origin"},
		{"a page on another port", addr, "Bearer " + token, http.Header{"Origin": {"http://127.0.0.1:1"}}, 403, "forbidden_origin"},
		{"a page with TLS", addr, "Bearer " + token, http.Header{"Origin": {"https://" + addr}}, 403, "forbidden_origin"},
		{"a sandboxed page", addr, "Bearer " + token, http.Header{"Origin": {"null"}}, 403, "forbidden_origin"},
		{"two origins", addr, "Bearer " + token, http.Header{"Origin": {"http://" + addr, "https://evil.example"}}, 403, "forbidden_origin"},
		{"a picture elsewhere", addr, "Bearer " + token, http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403, "forbidden_origin"},
		{"a picture on another port", addr, "Bearer " + token, http.Header{"Sec-Fetch-Site": {"same-site"}}, 403, "forbidden_origin"},
	}
	for _, tt := range tests {
		for _, route := range []struct{ method, path, body string }{
			{"GET", "/v1/agents", ""},
			{"POST", "/v1/tasks", call},
			{"GET", "/nowhere", ""},
		} {
			r := e.request(route.method, route.path, route.body)
			r.Host = tt.host
			r.Header.Del("Authorization")
			if tt.auth != "" {
				r.Header.Set("Authorization", tt.auth)
			}
			for name, values := range tt.header {
				r.Header[name] = values
			}
			resp, body := e.do(r)
			want := tt.status
			if want == 200 && route.path == "/nowhere" {
				want = 404
			}
			if resp.StatusCode != want || tt.code != "" && errorCode(t, body) != tt.code {
				t.Errorf("%s, %s %s: status %d %s, want %d %s", tt.name, route.method, route.path, resp.StatusCode, body, want, tt.code)
			}
			if resp.Header.Get("Access-Control-Allow-Origin") != "" || strings.Contains(string(body), token) {
				t.Errorf("%s: %v %s", tt.name, resp.Header, body)
			}
			if (resp.StatusCode == 401) != (resp.Header.Get("WWW-Authenticate") != "") {
				t.Errorf("%s: status %d, WWW-Authenticate %q", tt.name, resp.StatusCode, resp.Header.Get("WWW-Authenticate"))
			}
		}
	}
}

func TestAgentsAndSessions(t *testing.T) {
	e := newEnv(t, answer("x"), httpserver.Options{})
	if _, body := e.do(e.request("GET", "/v1/sessions", "")); string(body) != "{\"sessions\":[]}\n" {
		t.Errorf("no sessions: %s", body)
	}
	_, body := e.do(e.request("GET", "/v1/agents", ""))
	agents := decode[struct{ Agents []taskt.Agent }](t, body).Agents
	if len(agents) != 2 || agents[0].Name != "explore" || agents[0].Description == "" || agents[1].Name != "general" {
		t.Errorf("agents %s", body)
	}
	doc := e.run()
	_, body = e.do(e.request("GET", "/v1/sessions", ""))
	if rows := decode[struct{ Sessions []record.Record }](t, body).Sessions; len(rows) != 1 || rows[0].ID != doc.ParentID {
		t.Errorf("sessions without those that nest in others: %s", body)
	}
	_, body = e.do(e.request("GET", "/v1/sessions?all=true", ""))
	list := decode[struct{ Sessions []record.Record }](t, body).Sessions
	if len(list) != 2 || list[0].ID != doc.SessionID || list[1].ID != doc.ParentID {
		t.Errorf("sessions %s", body)
	}
	_, body = e.do(e.request("GET", "/v1/sessions/"+doc.SessionID, ""))
	shown := decode[struct {
		record.Record
		Messages []log.Message
	}](t, body)
	if shown.ID != doc.SessionID || shown.Status != record.Completed || len(shown.Messages) != 2 ||
		shown.Messages[0].Text != "look" || shown.Messages[1].Text != "x" {
		t.Errorf("session %s", body)
	}
}

// TestCancel: a caller that waits for the document and goes away cancels the
// task.
func TestCancel(t *testing.T) {
	g := newGate()
	e := newEnv(t, g.model, httpserver.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		resp, err := e.client.Do(e.request("POST", "/v1/tasks", call).WithContext(ctx))
		if err == nil {
			resp.Body.Close()
		}
		gone <- err
	}()
	<-g.started
	cancel()
	if err := <-gone; err == nil {
		t.Error("there was an answer")
	}
	<-g.ended
	records, err := e.sessions.Index.List(t.Context())
	if err != nil || len(records) != 2 {
		t.Fatal(len(records), err)
	}
	for _, r := range records {
		if r := e.await(r.ID); r.Status != record.Cancelled {
			t.Errorf("session %s (%q) is %s", r.ID, r.Agent, r.Status)
		}
	}
}

func TestBusy(t *testing.T) {
	g := newGate()
	e := newEnv(t, g.model, httpserver.Options{MaxCalls: 1})
	s := e.open(e.request("POST", "/v1/tasks", call))
	<-g.started
	resp, body := e.do(e.request("POST", "/v1/tasks", call))
	if resp.StatusCode != http.StatusTooManyRequests || errorCode(t, body) != "busy" {
		t.Errorf("the second call: status %d %s", resp.StatusCode, body)
	}
	close(g.open)
	s.rest()
	e.await(s.resp.Header.Get("Agent-Session"))
	if doc := e.run(); doc.Type != "task_result" {
		t.Errorf("after the first call: %+v", doc)
	}
}

// TestShutdown: calls that run are cancelled and answered, streams end with
// their sessions, and further calls are refused.
func TestShutdown(t *testing.T) {
	g := newGate()
	release := make(chan struct{})
	slow := func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		err := g.model(ctx, req, yield)
		<-release // it takes its time to end
		return err
	}
	e := newEnv(t, slow, httpserver.Options{})
	docs := make(chan taskt.Document, 1)
	go func() { docs <- e.run() }()
	<-g.started
	streamed := e.open(e.request("POST", "/v1/tasks", call))
	<-g.started
	reader := e.open(e.request("GET", "/v1/sessions/"+streamed.resp.Header.Get("Agent-Session")+"/events", ""))

	e.stop()
	<-g.ended
	<-g.ended
	if resp, body := e.do(e.request("POST", "/v1/tasks", call)); resp.StatusCode != 503 || errorCode(t, body) != "shutting_down" {
		t.Errorf("a call during the shutdown: status %d %s", resp.StatusCode, body)
	}
	close(release)
	if doc := <-docs; doc.Type != "task_error" || doc.Status != record.Cancelled {
		t.Errorf("the call that waits got %+v", doc)
	}
	events := streamed.rest()
	if last := events[len(events)-1]; last.Event != "task_error" || decode[taskt.Document](t, []byte(last.Data)).Status != record.Cancelled {
		t.Errorf("the streamed call ended with %+v", last)
	}
	events = reader.rest()
	if last := events[len(events)-1]; last.Data != `{"type":"session_end","status":"cancelled","stopReason":"stopped"}` {
		t.Errorf("the reader ended with %+v", last)
	}
	if err := e.server.Wait(); err != nil {
		t.Error(err)
	}
	if resp, err := e.client.Do(e.request("GET", "/v1/agents", "")); err == nil {
		resp.Body.Close()
		t.Errorf("after the shutdown: status %d", resp.StatusCode)
	}
	records, err := e.sessions.Index.List(t.Context())
	if err != nil || len(records) != 4 {
		t.Fatal(len(records), err)
	}
	for _, r := range records {
		if r.Status != record.Cancelled {
			t.Errorf("session %s is %s", r.ID, r.Status)
		}
	}
}

func TestListen(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "[::]:0", "127.0.0.1", "127.0.0.1:x", ""} {
		if s, err := httpserver.Start(t.Context(), addr, httpserver.Options{Token: token}); err == nil {
			t.Errorf("%q: it listens on %s", addr, s.URL())
		}
	}
	e := newEnv(t, answer("x"), httpserver.Options{})
	taken := strings.TrimPrefix(e.server.URL(), "http://")
	if _, err := httpserver.Start(t.Context(), taken, httpserver.Options{Token: token}); err == nil || !strings.Contains(err.Error(), "another port") {
		t.Errorf("a port in use: %v", err)
	}
	if _, err := httpserver.Start(t.Context(), "127.0.0.1:0", httpserver.Options{}); err == nil {
		t.Error("it starts without a token")
	}
}

// TestShutdownForeignStream: the stream of a session that does not end with
// this server holds up its end for a moment only.
func TestShutdownForeignStream(t *testing.T) {
	e := newEnv(t, answer("x"), httpserver.Options{})
	root, err := e.tasks.OpenCaller(t.Context(), "elsewhere", record.Owner)
	if err != nil {
		t.Fatal(err)
	}
	s := e.open(e.request("GET", "/v1/sessions/"+root.ID()+"/events", ""))
	s.until("session_start")
	e.stop()
	if events := s.rest(); len(events) != 1 || events[0].Event != "status_change" {
		t.Errorf("the stream ended with %v", events)
	}
	if err := e.server.Wait(); err != nil {
		t.Error(err)
	}
	if err := root.End(record.Completed, nil); err != nil {
		t.Error(err)
	}
}

// BenchmarkTask measures a call over HTTP with a model that answers at once.
// The store's synchronous writes limit it, as they do the task service itself.
func BenchmarkTask(b *testing.B) {
	e := newEnv(b, answer("ok"), httpserver.Options{})
	for b.Loop() {
		e.run()
	}
}

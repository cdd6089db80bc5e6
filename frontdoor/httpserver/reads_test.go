package httpserver_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/httpserver/openapi"
	"github.com/agentworker/worker/frontdoor/httpserver/problem"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

// TestTags: a client that has the current state of a session gets 304, until the session
// changes. While its model waits, a session changes no more after a while.
func TestTags(t *testing.T) {
	g := newGate()
	e := newEnv(t, g.model, httpserver.Options{})
	s := e.open(e.request("POST", "/v1/tasks", call))
	<-g.started
	id := s.resp.Header.Get("Agent-Session")
	for _, path := range []string{"/v1/sessions/" + id, "/v1/sessions?limit=1"} {
		tag := ""
		for changed := true; changed; { // that the model was called is stored beside it
			resp, _ := e.do(e.request("GET", path, ""))
			tag, changed = resp.Header.Get("ETag"), false
			for header, want := range map[string]int{tag: 304, `"x", W/` + tag: 304, "*": 304, `"x"`: 200, tag[1:]: 200} {
				r := e.request("GET", path, "")
				r.Header.Set("If-None-Match", header)
				resp, body := e.do(r)
				if changed = resp.Header.Get("ETag") != tag; changed {
					break
				}
				if resp.StatusCode != want || (want == 304) != (len(body) == 0) {
					t.Errorf("%s with %s: status %d", path, header, resp.StatusCode)
				}
			}
		}
	}
	resp, _ := e.do(e.request("GET", "/v1/sessions/"+id, ""))
	close(g.open)
	s.rest()
	e.await(id)
	r := e.request("GET", "/v1/sessions/"+id, "")
	r.Header.Set("If-None-Match", resp.Header.Get("ETag"))
	if resp, _ := e.do(r); resp.StatusCode != http.StatusOK {
		t.Errorf("a session that has changed: status %d", resp.StatusCode)
	}
}

// TestCursors: the pages of a list are the list.
func TestCursors(t *testing.T) {
	e := newEnv(t, answer("x"), httpserver.Options{})
	type page struct {
		Agents     []taskt.Agent
		NextCursor string
	}
	names := func(path string) (names []string, next string) {
		resp, body := e.do(e.request("GET", path, ""))
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: status %d: %s", path, resp.StatusCode, body)
		}
		p := decode[page](t, body)
		for _, a := range p.Agents {
			names = append(names, a.Name)
		}
		return names, p.NextCursor
	}
	all, next := names("/v1/agents")
	if len(all) < 2 || next != "" {
		t.Fatalf("agents %v, then %q", all, next)
	}
	var paged []string
	for cursor, first := "", true; first || cursor != ""; first = false {
		var part []string
		part, cursor = names("/v1/agents?limit=1&cursor=" + url.QueryEscape(cursor))
		paged = append(paged, part...)
	}
	if !slices.Equal(paged, all) {
		t.Errorf("pages %v, want %v", paged, all)
	}
	for _, path := range []string{"/v1/agents?cursor=%20", "/v1/approvals?cursor=*", "/v1/agents?limit=0", "/v1/approvals?limit=1001"} {
		if resp, body := e.do(e.request("GET", path, "")); resp.StatusCode != http.StatusBadRequest || errorCode(t, body) != "bad_request" {
			t.Errorf("%s: status %d: %s", path, resp.StatusCode, body)
		}
	}
}

// TestReads: what else can be read.
func TestReads(t *testing.T) {
	e := newEnv(t, answer("x"), httpserver.Options{
		Agent: func(name string) (any, bool) { return nil, false },
		Explain: func(_ context.Context, agent, tool, arg string) (any, error) {
			if agent == "nobody" {
				return nil, errors.New(`there is no agent "nobody"`)
			}
			return map[string]any{"tool": tool, "action": "ask", "layer": "static", "reason": arg, "layers": []any{}, "values": []any{}}, nil
		},
	})
	for _, tt := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/healthz", "", 200, `{"status":"ok"}`},
		{"GET", "/readyz", "", 200, `{"status":"ready"}`},
		{"GET", "/v1/openapi.yaml", "", 200, "openapi: 3.1.0"},
		{"GET", "/metrics", "", 200, `worker_http_requests_total{code="200",method="GET",route="/v1/openapi.yaml"} 1`},
		{"GET", "/debug/pprof/", "", 404, "there is no"},
		{"GET", "/v1/agents/nobody", "", 404, "no such agent"},
		{"GET", "/v1/approvals/apr_none", "", 404, "no such approval"},
		{"POST", "/v1/explain", `{"tool":"shell_exec","arg":"ls"}`, 200, `"reason":"ls"`},
		{"POST", "/v1/explain", `{"tool":"shell_exec","arguments":{"command":"ls"}}`, 200, `{\"command\":\"ls\"}`},
		{"POST", "/v1/explain", `{"tool":"x","agent":"nobody"}`, 400, "there is no agent"},
		{"POST", "/v1/explain", `{}`, 400, "tool is required"},
		{"POST", "/v1/explain", `{"tool":"x","arg":"a","arguments":{}}`, 400, "one of them"},
		{"POST", "/v1/explain", `{"tool":"x","arguments":[]}`, 400, "has to be an object"},
		{"POST", "/v1/explain", `{"tool":"x"}{}`, 400, "after the JSON object"},
	} {
		resp, body := e.do(e.request(tt.method, tt.path, tt.body))
		if resp.StatusCode != tt.status || !strings.Contains(string(body), tt.says) {
			t.Errorf("%s %s %s: status %d, want %d %s: %.300s", tt.method, tt.path, tt.body, resp.StatusCode, tt.status, tt.says, body)
		}
	}
	_, body := e.do(e.request("GET", "/v1/openapi.yaml", ""))
	if string(body) != string(openapi.Document) {
		t.Error("the description is another one")
	}
	_, body = e.do(e.request("GET", "/v1/sessions/ses_none", ""))
	p := decode[problem.Document](t, body)
	if p.Type != "urn:agentworker:problem:not_found" || p.Title == "" || p.Status != 404 || p.Detail != p.Error.Message || p.Hint == "" || p.Error.Code != "not_found" {
		t.Errorf("problem %+v", p)
	}
}

// TestShowApproval: an approval is there once it has its answer, too.
func TestShowApproval(t *testing.T) {
	e := newEnv(t, answer("x"), httpserver.Options{})
	a := &approval.Approval{ID: record.NewID("apr"), SessionID: "ses_x", Path: event.Path{{SessionID: "ses_x"}}, Tool: "touch"}
	if err := e.sessions.Approvals.Open(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if _, err := e.sessions.Approvals.Answer(t.Context(), a.ID, approval.Answer{By: "a test"}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]int{a.ID: 200, a.ID[:7]: 404} {
		if resp, body := e.do(e.request("GET", "/v1/approvals/"+id, "")); resp.StatusCode != want {
			t.Errorf("%s: status %d: %s", id, resp.StatusCode, body)
		}
	}
}

package httpserver_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// TestStop: DELETE of a session stops it, for whoever waits for it too, and
// tells apart what can't be stopped.
func TestStop(t *testing.T) {
	g := newGate()
	e := newEnv(t, g.model, httpserver.Options{})
	s := e.open(e.request("POST", "/v1/tasks", call))
	<-g.started
	root := s.resp.Header.Get("Agent-Session")
	resp, body := e.do(e.request("DELETE", "/v1/sessions/"+root, ""))
	if r := decode[record.Record](t, body); resp.StatusCode != http.StatusOK || r.ID != root || r.Status != record.Cancelled || !r.Closed {
		t.Errorf("status %d: %s", resp.StatusCode, body)
	}
	events := s.rest()
	if last := events[len(events)-1]; last.Event != "task_error" || decode[taskt.Document](t, []byte(last.Data)).Status != record.Cancelled {
		t.Errorf("the stream ends with %+v", last)
	}
	if resp, body = e.do(e.request("DELETE", "/v1/sessions/"+root, "")); resp.StatusCode != http.StatusConflict || errorCode(t, body) != "ended" {
		t.Errorf("a second time: status %d: %s", resp.StatusCode, body)
	}
	for _, id := range []string{"ses_none", root[:8]} {
		if resp, body = e.do(e.request("DELETE", "/v1/sessions/"+id, "")); resp.StatusCode != http.StatusNotFound || errorCode(t, body) != "not_found" {
			t.Errorf("%s: status %d: %s", id, resp.StatusCode, body)
		}
	}
}

// TestControl: the operations on subagents have requests of their own.
func TestControl(t *testing.T) {
	g := newGate()
	e := newEnv(t, g.model, httpserver.Options{})
	s := e.open(e.request("POST", "/v1/tasks", call))
	<-g.started
	resp, body := e.do(e.request("POST", "/v1/tasks/list", `{"running": true}`))
	list := decode[control.List](t, body)
	if resp.StatusCode != http.StatusOK || list.Total != 1 || list.Sessions[0].ParentID != s.resp.Header.Get("Agent-Session") {
		t.Fatalf("status %d: %s", resp.StatusCode, body)
	}
	id := list.Sessions[0].SessionID
	if resp, body = e.do(e.request("POST", "/v1/tasks/result", `{"sessionId": "`+id+`"}`)); resp.StatusCode != http.StatusConflict || errorCode(t, body) != "running" {
		t.Errorf("the result of one that runs: status %d: %s", resp.StatusCode, body)
	}
	if resp, body = e.do(e.request("POST", "/v1/tasks/stop", `{"sessionId": "`+id+`"}`)); resp.StatusCode != http.StatusOK || decode[control.Stopped](t, body).Sessions[0].Status != record.Cancelled {
		t.Errorf("stop: status %d: %s", resp.StatusCode, body)
	}
	s.rest()
	if resp, body = e.do(e.request("POST", "/v1/tasks/wait", `{"sessionIds": ["`+id+`"]}`)); resp.StatusCode != http.StatusOK || decode[control.Waited](t, body).Results[0].Error != "the task was cancelled: stopped by an HTTP client" {
		t.Errorf("wait: status %d: %s", resp.StatusCode, body)
	}
	if resp, body = e.do(e.request("POST", "/v1/tasks/wait", `{"until": "never"}`)); resp.StatusCode != http.StatusBadRequest || errorCode(t, body) != "bad_request" {
		t.Errorf("wrong arguments: status %d: %s", resp.StatusCode, body)
	}
}

// TestOnDisconnect: a request says what happens to its call when the caller disconnects.
func TestOnDisconnect(t *testing.T) {
	for _, tt := range []struct {
		query    string
		streamed bool
		goesOn   bool
	}{
		{"", true, true},
		{"?onDisconnect=cancel", true, false},
		{"?onDisconnect=continue", true, true},
		{"", false, false},
		{"?onDisconnect=continue", false, true},
	} {
		g := newGate()
		e := newEnv(t, g.model, httpserver.Options{})
		ctx, drop := context.WithCancel(t.Context())
		r := e.request("POST", "/v1/tasks"+tt.query, call).WithContext(ctx)
		if tt.streamed {
			r.Header.Set("Accept", "text/event-stream")
		}
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			resp, err := e.client.Do(r)
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body) // it breaks off
				resp.Body.Close()
			}
		}()
		<-g.started
		drop()
		<-gone
		want := record.Cancelled
		if tt.goesOn {
			close(g.open)
			want = record.Completed
		}
		records, err := e.sessions.Index.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if got := e.await(r.ID); got.Status != want {
				t.Errorf("%+v: session %s is %s, want %s", tt, r.ID, got.Status, want)
			}
		}
	}
	e := newEnv(t, answer("x"), httpserver.Options{})
	if resp, body := e.do(e.request("POST", "/v1/tasks?onDisconnect=maybe", call)); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d: %s", resp.StatusCode, body)
	}
}

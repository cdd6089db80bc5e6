package httpserver_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/agentworker/worker/frontdoor/httpserver"
)

// TestFromNow: a client that begins now gets what comes from then on, and
// nothing of a session that has ended.
func TestFromNow(t *testing.T) {
	g := newGate()
	e := newEnv(t, g.model, httpserver.Options{})
	task := e.open(e.request("POST", "/v1/tasks", call))
	id := task.resp.Header.Get("Agent-Session")
	path := "/v1/sessions/" + id + "/events?from=now"
	<-g.started

	late := e.open(e.request("GET", path, ""))
	position, _ := late.next() // where to begin again, before there was an event
	close(g.open)
	got, all := late.rest(), e.stored(id)
	before := len(all) - len(got)
	if len(got) == 0 || before < 1 || !slices.Equal(got, all[before:]) || position != (sse{ID: all[before-1].ID}) {
		t.Errorf("behind %v: %v\nof %v", position, got, all)
	}
	if resp, body := e.do(e.request("GET", path, "")); resp.StatusCode != http.StatusNoContent || len(body) > 0 {
		t.Errorf("after the end: status %d %s", resp.StatusCode, body)
	}
	if resp, _ := e.do(e.request("GET", "/v1/sessions/"+id+"/events?from=soon", "")); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("from=soon: status %d", resp.StatusCode)
	}
	task.rest()
}

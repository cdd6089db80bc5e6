package httpserver_test

import (
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/agentworker/worker/frontdoor/httpserver"
)

// TestFromNow: a client that begins now gets the events from then on, and none of an ended
// session.
func TestFromNow(t *testing.T) {
	g := newGate()
	e := newEnv(t, g.model, httpserver.Options{})
	task := e.open(e.request("POST", "/v1/tasks", call))
	id := task.resp.Header.Get("Agent-Session")
	path := "/v1/sessions/" + id + "/events?from=now"
	task.until(`"delta":"first `) // so much of the session is stored

	late := e.open(e.request("GET", path, ""))
	position, _ := late.next() // where to begin again, before there was an event
	close(g.open)
	got, all := late.rest(), e.stored(id)
	before := len(all) - len(got)
	if len(got) == 0 || before < 1 || !slices.Equal(got, all[before:]) {
		t.Fatalf("behind %v: %v\nof %v", position, got, all)
	}
	// What the log holds besides events has numbers, too: the position may be
	// the number of such an entry.
	at, err := strconv.Atoi(position.ID)
	if err != nil || position != (sse{ID: position.ID}) || at < number(t, all[before-1]) || at >= number(t, got[0]) {
		t.Errorf("the position is %v, between %v and %v", position, all[before-1], got[0])
	}
	if resp, body := e.do(e.request("GET", path, "")); resp.StatusCode != http.StatusNoContent || len(body) > 0 {
		t.Errorf("after the end: status %d %s", resp.StatusCode, body)
	}
	if resp, _ := e.do(e.request("GET", "/v1/sessions/"+id+"/events?from=soon", "")); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("from=soon: status %d", resp.StatusCode)
	}
	task.rest()
}

// number returns the number of an event.
func number(t *testing.T, ev sse) int {
	t.Helper()
	n, err := strconv.Atoi(ev.ID)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

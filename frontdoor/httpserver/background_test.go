package httpserver_test

import (
	"net/http"
	"testing"

	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// TestBackgroundFull: a call in the background is accepted at once; one that finds no
// free slot is refused, with the status and the code that it has over NATS too.
func TestBackgroundFull(t *testing.T) {
	g := newGate()
	e := newEnvOf(t, g.model, taskt.Limits{Running: 1}, httpserver.Options{})
	resp, body := e.do(e.request("POST", "/v1/tasks", background))
	first := decode[taskt.Document](t, body)
	if resp.StatusCode != http.StatusAccepted || first.Status != control.Accepted {
		t.Fatalf("the first: status %d: %s", resp.StatusCode, body)
	}
	resp, body = e.do(e.request("POST", "/v1/tasks", background))
	if resp.StatusCode != http.StatusTooManyRequests || errorCode(t, body) != "full" {
		t.Errorf("the second: status %d: %s", resp.StatusCode, body)
	}
	if refused := e.await(resp.Header.Get("Agent-Session")); refused.Status != record.Failed {
		t.Errorf("the root session of the second is %s", refused.Status)
	}
	close(g.open)
	if r := e.await(first.SessionID); r.Status != record.Completed {
		t.Errorf("the first is %s", r.Status)
	}
}

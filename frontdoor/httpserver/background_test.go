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

// TestBackgroundHoldsNoPlace: calls in the background are bounded by the slots of subagents,
// and not by the calls that the door holds open.
func TestBackgroundHoldsNoPlace(t *testing.T) {
	g := newGate()
	e := newEnvOf(t, g.model, taskt.Limits{Running: 6, PerParent: 6}, httpserver.Options{MaxCalls: 1})
	var started []string
	for range 5 {
		resp, body := e.do(e.request("POST", "/v1/tasks", background))
		if resp.StatusCode != http.StatusAccepted {
			t.Fatalf("status %d: %s", resp.StatusCode, body)
		}
		started = append(started, decode[taskt.Document](t, body).SessionID)
	}
	close(g.open)
	for _, id := range started {
		if r := e.await(id); r.Status != record.Completed {
			t.Errorf("%s is %s", id, r.Status)
		}
	}
	if doc := e.run(); doc.Status != record.Completed {
		t.Errorf("a call that waits: %+v", doc)
	}
}

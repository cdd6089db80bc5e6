package natsservice_test

import (
	"testing"

	"github.com/agentworker/worker/eventbus/natstest"
	"github.com/agentworker/worker/frontdoor/natsservice"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// TestBackgroundFull: a call in the background is accepted at once; one that finds no
// free slot is refused, with the status and the code that it has over HTTP too.
func TestBackgroundFull(t *testing.T) {
	g := newGate()
	url := newServer(t)
	e := (&env{worker: newWorker(t, url, g.model, taskt.Limits{Running: 1}, natsservice.Options{}), t: t, client: natstest.Connect(t, url)}).learn()
	first := decode[taskt.Document](t, e.request(taskSubject, background, nil).Data)
	if first.Status != control.Accepted {
		t.Fatalf("the first: %+v", first)
	}
	msg := e.request(taskSubject, background, nil)
	code := decode[struct{ Error struct{ Code string } }](t, msg.Data).Error.Code
	if msg.Header.Get("Nats-Service-Error-Code") != "429" || code != "full" {
		t.Errorf("the second: %v %s", msg.Header, msg.Data)
	}
	close(g.open)
	waited := decode[control.Waited](t, e.request("agents.v1.ws.service.task_wait", `{"sessionId": "`+first.SessionID+`"}`, nil).Data)
	if len(waited.Results) != 1 || waited.Results[0].Status != record.Completed {
		t.Errorf("the first: %+v", waited)
	}
}

package natsservice_test

import (
	"encoding/json"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/frontdoor/natsservice"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
)

// TestStop: a call is stopped from another worker of the server, and answered.
func TestStop(t *testing.T) {
	g := newGate()
	e := newEnv(t, g.model, natsservice.Options{})
	replies := make(chan *nats.Msg, 1)
	go func() { replies <- e.request(taskSubject, call, nil) }()
	<-g.started
	records, err := e.sessions.List(t.Context())
	if err != nil || len(records) != 2 {
		t.Fatalf("sessions %v, %v", records, err)
	}
	other := newWorkerOf(t, "ws", e.client.ConnectedUrl(), answer("x"), taskt.Limits{}, natsservice.Options{})
	for _, r := range records {
		if r.ParentID == "" {
			continue
		}
		got, err := other.sessions.Stop(t.Context(), r.ID, "alice")
		if err != nil || got.Status != store.Cancelled || !got.Closed {
			t.Errorf("stopped: %+v, %v", got, err)
		}
	}
	var doc taskt.Document
	if err := json.Unmarshal((<-replies).Data, &doc); err != nil || doc.Status != store.Cancelled {
		t.Errorf("answer %+v, %v", doc, err)
	}
}

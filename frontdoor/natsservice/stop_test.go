package natsservice_test

import (
	"encoding/json"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/frontdoor/natsservice"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// TestStop: a call is stopped from another worker of the server, and answered.
func TestStop(t *testing.T) {
	g := newGate()
	e := newEnv(t, g.model, natsservice.Options{})
	replies := make(chan *nats.Msg, 1)
	go func() { replies <- e.request(taskSubject, call, nil) }()
	<-g.started
	records, err := e.sessions.Index.List(t.Context())
	if err != nil || len(records) != 2 {
		t.Fatalf("sessions %v, %v", records, err)
	}
	other := newWorkerOf(t, "ws", e.client.ConnectedUrl(), answer("x"), taskt.Limits{}, natsservice.Options{})
	for _, r := range records {
		if r.ParentID == "" {
			continue
		}
		got, err := other.sessions.Recovery.Stop(t.Context(), r.ID, "alice")
		if err != nil || got.Status != record.Cancelled || !got.Closed {
			t.Errorf("stopped: %+v, %v", got, err)
		}
	}
	var doc taskt.Document
	if err := json.Unmarshal((<-replies).Data, &doc); err != nil || doc.Status != record.Cancelled {
		t.Errorf("answer %+v, %v", doc, err)
	}
}

// TestControl: the operations on subagents are endpoints, at whatever worker.
func TestControl(t *testing.T) {
	g := newGate()
	e := newEnv(t, g.model, natsservice.Options{})
	replies := make(chan *nats.Msg, 1)
	go func() { replies <- e.request(taskSubject, call, nil) }()
	<-g.started
	ask := func(operation, args string) *nats.Msg {
		return e.request("agents.v1.ws.service."+operation, args, nil)
	}
	list := decode[control.List](t, ask("task_list", "").Data)
	if list.Total != 1 || list.Sessions[0].Status != record.Running {
		t.Fatalf("list %+v", list)
	}
	id := list.Sessions[0].SessionID
	if msg := ask("task_result", `{"sessionId": "`+id+`"}`); msg.Header.Get("Nats-Service-Error-Code") != "409" {
		t.Errorf("the result of one that runs: %v %s", msg.Header, msg.Data)
	}
	if stopped := decode[control.Stopped](t, ask("task_stop", `{"sessionId": "`+id+`"}`).Data); stopped.Sessions[0].Status != record.Cancelled {
		t.Errorf("stopped %+v", stopped)
	}
	if waited := decode[control.Waited](t, ask("task_wait", `{"sessionId": "`+id+`"}`).Data); waited.Results[0].Status != record.Cancelled {
		t.Errorf("waited %+v", waited)
	}
	if doc := decode[taskt.Document](t, (<-replies).Data); doc.Error != "the task was cancelled: stopped by a NATS client" {
		t.Errorf("answer %+v", doc)
	}
}

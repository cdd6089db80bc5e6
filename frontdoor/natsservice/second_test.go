//go:build unix

package natsservice_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/micro"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/frontdoor/natsservice"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

// TestSecondPerson: of a client it is not known who it is. Nobody can approve what it has
// begun, and it approves nothing that takes a second person.
func TestSecondPerson(t *testing.T) {
	e := newEnv(t, doortest.Asking, natsservice.Options{}, doortest.Under(t, `{"secondPerson": {"touch": "ask"}}`))
	doc := decode[taskt.Document](t, e.request(taskSubject, `{"description":"d","prompt":"p","agentType":"general"}`, nil).Data)
	if !strings.Contains(doc.Text, "not known who has asked") {
		t.Errorf("%+v", doc)
	}
	a := &approval.Approval{
		ID: record.NewID("apr"), SessionID: "ses_x", Path: event.Path{}.Child("ses_x", "general"), Tool: "touch", CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour),
		SecondPerson: &approval.SecondPerson{Rule: "touch", AskedBy: []record.Person{record.Owner}},
	}
	if err := e.sessions.Approvals.Open(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	msg := e.request("agents.v1.ws.service.answer", `{"approvalId":"`+a.ID+`","approve":true}`, nil)
	if msg.Header.Get(micro.ErrorCodeHeader) != "403" || !strings.Contains(string(msg.Data), "second_person") {
		t.Errorf("approved: %v %s", msg.Header, msg.Data)
	}
	if now, err := e.sessions.Approvals.Get(t.Context(), a.ID); err != nil || !now.Pending() {
		t.Errorf("%+v, %v", now, err)
	}
}

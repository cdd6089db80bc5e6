package natsservice_test

import (
	"testing"

	"github.com/nats-io/nats.go/micro"

	"github.com/agentworker/worker/frontdoor/natsservice"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/upkeep"
)

// TestUpkeep: an ended session is summarised and deleted. An operation that can't be done
// has an error of its own, and so has an invalid request.
func TestUpkeep(t *testing.T) {
	e := newEnv(t, answer("done"), natsservice.Options{})
	doc := decode[taskt.Document](t, e.request(taskSubject, call, nil).Data)
	ask := func(operation, body, code string) []byte {
		t.Helper()
		msg := e.request("agents.v1.ws.service.session_"+operation, body, nil)
		if got := msg.Header.Get(micro.ErrorCodeHeader); got != code {
			t.Errorf("%s %s: %s: %s", operation, body, got, msg.Data)
		}
		return msg.Data
	}
	of := func(id string) string { return `{"sessionId":"` + id + `"}` }
	if got := decode[session.Summary](t, ask("summary", of(doc.SessionID), "")); got.Text != "done" {
		t.Errorf("the summary: %+v", got)
	}
	for _, operation := range []string{"apply", "discard"} {
		ask(operation, of(doc.SessionID), "404")
	}
	for _, bad := range []string{"", "{}", `{"sessionId":""}`, `{"sessionId":1}`, of(doc.SessionID) + "x", `{"sessionId":"a","force":true}`} {
		ask("delete", bad, "400")
	}
	ask("delete", of(doc.SessionID[:8]), "404")
	if got := decode[upkeep.Deleted](t, ask("delete", of(doc.ParentID), "")); got.Deleted != 2 {
		t.Errorf("deleted: %+v", got)
	}
	ask("summary", of(doc.SessionID), "404")
}

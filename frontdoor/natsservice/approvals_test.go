package natsservice_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/frontdoor/natsservice"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/taskt"
)

// TestApprovals: a client sees what waits, and its answer counts once.
func TestApprovals(t *testing.T) {
	e := newEnv(t, doortest.Asking, natsservice.Options{})
	list := func() []approval.Approval {
		return decode[struct{ Approvals []approval.Approval }](t, e.request("agents.v1.ws.service.approvals", "", nil).Data).Approvals
	}
	if got := list(); got == nil || len(got) != 0 {
		t.Errorf("approvals %v, want an empty list", got)
	}
	for _, tt := range []struct{ body, code, says string }{
		{`rubbish`, "400", "not JSON"},
		{`{}`, "400", "are required"},
		{`{"approvalId":"apr_x"}`, "400", "are required"},
		{`{"approvalId":"apr_x","approve":true,"always":true}`, "400", "always"},
		{`{"approvalId":"apr_x","approve":true}`, "404", "no such approval"},
	} {
		msg := e.request("agents.v1.ws.service.answer", tt.body, nil)
		if msg.Header.Get(micro.ErrorCodeHeader) != tt.code || !strings.Contains(string(msg.Data), tt.says) {
			t.Errorf("%s: %v %s, want %s %q", tt.body, msg.Header, msg.Data, tt.code, tt.says)
		}
	}
	for _, tt := range []struct {
		approve, outcome, says string
	}{{"true", "approved", "touched"}, {"false", "denied", "not today"}} {
		replies := make(chan *nats.Msg, 1)
		go func() {
			replies <- e.request(taskSubject, `{"description":"d","prompt":"p","agentType":"general"}`, nil)
		}()
		var waits []approval.Approval
		for deadline := time.Now().Add(time.Minute); len(waits) == 0 && time.Now().Before(deadline); {
			waits = list()
		}
		if len(waits) != 1 || waits[0].Tool != "touch" {
			t.Fatalf("approvals %+v, want one of touch", waits)
		}
		body := `{"approvalId":"` + waits[0].ID + `","approve":` + tt.approve + `,"feedback":"not today"}`
		if got := decode[approval.Approval](t, e.request("agents.v1.ws.service.answer", body, nil).Data); string(got.Outcome) != tt.outcome {
			t.Errorf("answered %s: %+v", tt.approve, got)
		}
		if msg := e.request("agents.v1.ws.service.answer", body, nil); msg.Header.Get(micro.ErrorCodeHeader) != "409" {
			t.Errorf("answered twice: %v %s", msg.Header, msg.Data)
		}
		if doc := decode[taskt.Document](t, (<-replies).Data); !strings.Contains(doc.Text, tt.says) {
			t.Errorf("answered %s: document %+v, want %q", tt.approve, doc, tt.says)
		}
	}
}

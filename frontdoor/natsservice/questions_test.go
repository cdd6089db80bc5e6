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

// TestQuestions: a client answers what an agent asks. What does not fit is refused, and the
// question waits on.
func TestQuestions(t *testing.T) {
	e := newEnv(t, doortest.Calling("ask_user", doortest.Question), natsservice.Options{})
	replies := make(chan *nats.Msg, 1)
	go func() {
		replies <- e.request(taskSubject, `{"description":"d","prompt":"p","agentType":"general"}`, nil)
	}()
	var waits []approval.Approval
	for deadline := time.Now().Add(time.Minute); len(waits) == 0 && time.Now().Before(deadline); {
		waits = decode[struct{ Approvals []approval.Approval }](t, e.request("agents.v1.ws.service.approvals", "", nil).Data).Approvals
	}
	if len(waits) != 1 || waits[0].Ask == nil || waits[0].Ask.Default != "a" {
		t.Fatalf("approvals %+v, want one that asks", waits)
	}
	answer := func(with string) *nats.Msg {
		return e.request("agents.v1.ws.service.answer", `{"approvalId":"`+waits[0].ID+`",`+with+`}`, nil)
	}
	if msg := answer(`"answers":["c"]`); msg.Header.Get(micro.ErrorCodeHeader) != "422" || !strings.Contains(string(msg.Data), "wrong_answer") {
		t.Errorf("%v %s", msg.Header, msg.Data)
	}
	if got := decode[approval.Approval](t, answer(`"answers":["<b>"]`).Data); got.Outcome != "answered" {
		t.Errorf("answered: %+v", got)
	}
	if doc := decode[taskt.Document](t, (<-replies).Data); !strings.Contains(doc.Text, "The person has answered:\n- <b>") {
		t.Errorf("document %+v", doc)
	}
}

package httpserver_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/taskt"
)

// TestApprovals: a client sees what waits, and its answer counts once.
func TestApprovals(t *testing.T) {
	e := newEnv(t, doortest.Asking, httpserver.Options{})
	list := func() []approval.Approval {
		resp, body := e.do(e.request("GET", "/v1/approvals", ""))
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d: %s", resp.StatusCode, body)
		}
		return decode[struct{ Approvals []approval.Approval }](t, body).Approvals
	}
	if got := list(); got == nil || len(got) != 0 {
		t.Errorf("approvals %v, want an empty list", got)
	}
	for _, tt := range []struct {
		body, code, says string
		status           int
	}{
		{`rubbish`, "bad_request", "can't stand at byte 1", 400},
		{`{}`, "bad_request", "are required", 400},
		{`{"approvalId":"apr_x","approve":true,"always":true}`, "bad_request", "always", 400},
		{`{"approvalId":"apr_x","approve":true} {}`, "bad_request", "after", 400},
		{`{"approvalId":"apr_x","approve":true}`, "not_found", "no such approval", 404},
		{`{"approvalId":"` + strings.Repeat("x", 4000) + `","approve":true}`, "not_found", "no such approval", 404},
	} {
		resp, body := e.do(e.request("POST", "/v1/approvals", tt.body))
		if resp.StatusCode != tt.status || errorCode(t, body) != tt.code || !strings.Contains(string(body), tt.says) {
			t.Errorf("%.60s: status %d %s, want %s %q", tt.body, resp.StatusCode, body, tt.code, tt.says)
		}
	}
	for _, tt := range []struct{ approve, outcome, says string }{{"true", "approved", "touched"}, {"false", "denied", "not today"}} {
		docs := make(chan taskt.Document, 1)
		go func() {
			_, body := e.do(e.request("POST", "/v1/tasks", `{"description":"d","prompt":"p","agentType":"general"}`))
			var doc taskt.Document
			_ = json.Unmarshal(body, &doc) // what is missing is seen below
			docs <- doc
		}()
		var waits []approval.Approval
		for deadline := time.Now().Add(time.Minute); len(waits) == 0 && time.Now().Before(deadline); {
			waits = list()
		}
		if len(waits) != 1 || waits[0].Tool != "touch" {
			t.Fatalf("approvals %+v, want one of touch", waits)
		}
		body := `{"approvalId":"` + waits[0].ID + `","approve":` + tt.approve + `,"feedback":"not today"}`
		if _, got := e.do(e.request("POST", "/v1/approvals", body)); string(decode[approval.Approval](t, got).Outcome) != tt.outcome {
			t.Errorf("answered %s: %s", tt.approve, got)
		}
		if resp, got := e.do(e.request("POST", "/v1/approvals", body)); resp.StatusCode != http.StatusConflict || errorCode(t, got) != "answered" {
			t.Errorf("answered twice: status %d %s", resp.StatusCode, got)
		}
		if doc := <-docs; !strings.Contains(doc.Text, tt.says) {
			t.Errorf("answered %s: document %+v, want %q", tt.approve, doc, tt.says)
		}
	}
}

//go:build unix

package httpserver_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/httpserver/tokens"
	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/taskt"
)

// TestSecondPerson: nobody approves a call of their own, neither a token nor the owner. A
// refused answer says who may approve it, and the call keeps waiting.
func TestSecondPerson(t *testing.T) {
	file, texts := filepath.Join(t.TempDir(), "serve.tokens"), map[string]string{"": token}
	for _, name := range []string{"alice", "bob"} {
		text, err := tokens.Add(file, name, []tokens.Scope{"run", "approve", "read"})
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = text
	}
	e := newEnv(t, doortest.Asking, httpserver.Options{Tokens: tokens.Open(file, slog.New(slog.DiscardHandler))}, doortest.Under(t, `{"secondPerson": {"touch": "ask"}}`))
	for _, tt := range []struct{ starter, second string }{{"alice", "bob"}, {"alice", ""}, {"", "bob"}} {
		docs := make(chan taskt.Document, 1)
		go func() {
			_, body := e.do(e.with(texts[tt.starter], "POST", "/v1/tasks", `{"description":"d","prompt":"p","agentType":"general"}`))
			var doc taskt.Document
			_ = json.Unmarshal(body, &doc) // what is missing is seen below
			docs <- doc
		}()
		var waits []approval.Approval
		for deadline := time.Now().Add(time.Minute); len(waits) == 0 && time.Now().Before(deadline); {
			_, body := e.do(e.request("GET", "/v1/approvals", ""))
			waits = decode[struct{ Approvals []approval.Approval }](t, body).Approvals
		}
		if len(waits) != 1 {
			t.Fatalf("approvals %+v, want one", waits)
		}
		answer := `{"approvalId":"` + waits[0].ID + `","approve":true}`
		resp, body := e.do(e.with(texts[tt.starter], "POST", "/v1/approvals", answer))
		if resp.StatusCode != http.StatusForbidden || errorCode(t, body) != "second_person" || !strings.Contains(string(body), "scope \\\"approve\\\"") {
			t.Errorf("%q approves what it has begun: %d %s", tt.starter, resp.StatusCode, body)
		}
		_, body = e.do(e.with(texts[tt.second], "POST", "/v1/approvals", answer))
		if got := decode[approval.Approval](t, body); got.Outcome != "approved" || !got.AnsweredAs.Named() {
			t.Errorf("%q approves what %q has begun: %s", tt.second, tt.starter, body)
		}
		if doc := <-docs; doc.Text != "touched" {
			t.Errorf("begun by %q: %+v", tt.starter, doc)
		}
	}
}

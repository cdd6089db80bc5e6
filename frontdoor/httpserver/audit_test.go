package httpserver_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/audit"
)

// TestAudit: the log in pages, the newest first, as what is asked for chooses it.
func TestAudit(t *testing.T) {
	var log *audit.Log
	e := newEnv(t, answer("x"), httpserver.Options{}, func(o *session.Options) {
		var err error
		if log, err = audit.Open(t.Context(), o.Bus, audit.Options{User: "alice@host"}); err != nil {
			t.Fatal(err)
		}
		o.Audit = log
	})
	for i := range 5 {
		kind := []audit.Kind{audit.Decision, audit.Answer}[i%2]
		if err := log.Add(audit.Record{Kind: kind, Agent: fmt.Sprint("agent", i%2), Tool: "touch", SessionID: "ses_1", Outcome: audit.Denied}); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	list := func(query string) (ns []uint64, next string) {
		resp, body := e.do(e.request("GET", "/v1/audit"+query, ""))
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", query, resp.StatusCode, body)
		}
		page := decode[struct {
			Records    []audit.Record
			NextCursor string
		}](t, body)
		for _, r := range page.Records {
			ns = append(ns, r.N)
		}
		return ns, page.NextCursor
	}
	if ns, next := list(""); !slices.Equal(ns, []uint64{5, 4, 3, 2, 1}) || next != "" {
		t.Errorf("records %v, %q", ns, next)
	}
	first, next := list("?limit=2")
	second, end := list("?limit=3&cursor=" + next)
	if all := append(first, second...); !slices.Equal(all, []uint64{5, 4, 3, 2, 1}) || next == "" || end != "" {
		t.Errorf("pages %v, %q, %q", all, next, end)
	}
	for query, want := range map[string]int{"?kind=answer": 2, "?agent=agent0": 3, "?tool=other": 0, "?outcome=denied&session=ses_1&since=1h": 5, "?until=1h": 0} {
		if ns, _ := list(query); len(ns) != want {
			t.Errorf("%s: %v, want %d", query, ns, want)
		}
	}
	for _, query := range []string{"?kind=x", "?since=soon", "?since=1h&until=2h", "?limit=0", "?cursor=x"} {
		if resp, body := e.do(e.request("GET", "/v1/audit"+query, "")); resp.StatusCode != http.StatusBadRequest || errorCode(t, body) != "bad_request" {
			t.Errorf("%s: %d %s", query, resp.StatusCode, body)
		}
	}
}

package taskt_test

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/transcript"
	"github.com/agentworker/worker/taskt"
)

// TestInspectable: the transcript of a run is part of the record of its call, and lists leave
// it out. With inspectable: true it is a row of its own, to which the result points (G7).
func TestInspectable(t *testing.T) {
	e := newEnv(t, answer("seen"), taskt.Limits{}, map[string]string{
		"open.md":   agentFile("inspectable: true"),
		"closed.md": agentFile(),
	})
	var results []*taskt.Result
	for _, agent := range []string{"open", "closed"} {
		res := e.Call(t.Context(), e.root, taskt.Input{Description: "d", Prompt: "p", AgentType: agent})
		if res.Err != nil {
			t.Fatal(res.Err)
		}
		if pointed := strings.Contains(res.ForModel(), "session "+res.SessionID+" is the run"); pointed != (agent == "open") {
			t.Errorf("%s: the result reads %s", agent, res.ForModel())
		}
		results = append(results, res)
	}
	if err := e.root.End(record.Completed, nil); err != nil {
		t.Fatal(err)
	}
	for _, all := range []bool{false, true} {
		page, err := e.sessions.Store().Index.Page(t.Context(), index.ListOptions{Nested: all})
		if err != nil {
			t.Fatal(err)
		}
		listed := map[string]bool{}
		for _, r := range page.Sessions {
			listed[r.ID] = true
		}
		if !listed[results[0].SessionID] || listed[results[1].SessionID] != all {
			t.Errorf("with all %v: %v are listed, of %s and %s", all, listed, results[0].SessionID, results[1].SessionID)
		}
	}
	messages, err := e.sessions.Store().Transcripts.Messages(t.Context(), e.root.ID())
	if err != nil {
		t.Fatal(err)
	}
	var nested []*log.Nested
	for _, m := range messages {
		nested = append(nested, m.Nested...)
	}
	if len(nested) != 1 || nested[0].ID != results[1].SessionID || len(nested[0].Messages) != 2 || nested[0].Messages[1].Text != "seen" {
		t.Fatalf("nested in the caller's transcript: %+v", nested)
	}
	record := e.root.Record()
	if text := transcript.Markdown(&record, messages); !strings.Contains(text, "> # Session `"+nested[0].ID+"`") || !strings.Contains(text, "> > seen") {
		t.Errorf("as Markdown:\n%s", text)
	}
}

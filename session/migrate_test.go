package session_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
)

// stores puts what was stored, a subject and its JSON a line, into e's store.
func (e *env) stores(lines string) {
	e.t.Helper()
	for line := range strings.Lines(lines) {
		subject, data, _ := strings.Cut(strings.TrimSpace(line), " ")
		subject = strings.ReplaceAll(subject, "shop.", "ws.") // the workspace of these tests
		if _, err := e.bus.JetStream().Publish(e.t.Context(), subject, []byte(data)); err != nil {
			e.t.Fatal(err)
		}
	}
}

// TestSchema1: what workers of before the fields closed, endedBy and payloadRef
// have stored (testdata/schema1.txt, by such a one) is read as if it were today's.
func TestSchema1(t *testing.T) {
	stored, err := os.ReadFile("testdata/schema1.txt")
	if err != nil {
		t.Fatal(err)
	}
	e := newEnv(t, turns{say("ok")}, nil)
	e.stores(string(stored))
	// The same, killed while it ran.
	running := strings.NewReplacer(`"completed"`, `"running"`, "ses_6xrawitmui6joh45", "ses_killed")
	e.stores(running.Replace(strings.SplitAfter(string(stored), "\n")[1]))

	if n, err := e.Store().Recover(t.Context()); n != 1 || err != nil {
		t.Errorf("Recover: %d, %v, want the running one alone", n, err)
	}
	for id, want := range map[string]session.Record{
		"ses_5yuflut6vxzv26br": {Status: session.Completed, Agent: "explore", Steps: 3, Depth: 1},
		"ses_6xrawitmui6joh45": {Status: session.Completed, Steps: 1},
		"ses_killed":           {Status: session.Interrupted, Steps: 1},
	} {
		r := e.stored(id)
		if r.Status != want.Status || r.Agent != want.Agent || r.Steps != want.Steps || r.Depth != want.Depth || !r.Closed || r.Schema != 2 {
			t.Errorf("%s: %+v", id, r)
		}
	}
	messages, err := e.Store().Messages(t.Context(), "ses_5yuflut6vxzv26br")
	if err != nil || len(messages) != 6 {
		t.Fatalf("%d messages, %v, want 6", len(messages), err)
	}
	if first, last := messages[0], messages[5]; first.Text != "Where is the retry delay?" || last.Role != model.Assistant || !strings.HasPrefix(last.Text, "The best match is `a.go:1`") {
		t.Errorf("messages %+v … %+v", first, last)
	}
}

// TestForeignSchema: what a newer worker has stored is refused, and so is what
// no worker has; both say what to do.
func TestForeignSchema(t *testing.T) {
	for name, tt := range map[string]struct{ record, message, want string }{
		"newer": {
			`{"schema":3,"id":"ses_x","status":"running"}`, `{"schema":3,"id":"msg_x","role":"user"}`,
			"_x was stored by a newer worker (schema 3, this one knows up to 2): use that one, or another --state-dir",
		},
		"none":            {`{"id":"ses_x","status":"running"}`, `{"id":"msg_x"}`, "_x: it has no schema"},
		"not an object":   {`[]`, `"text"`, "reading a stored "},
		"cut off":         {`{"schema":2,"id":"ses_x"`, `{"schema":2,"id":`, "reading a stored "},
		"wrong in field":  {`{"schema":2,"id":"ses_x","status":7}`, `{"schema":2,"id":"msg_x","role":7}`, "_x: "},
		"wrong in a step": {`{"schema":1,"id":"ses_x","status":7}`, `{"schema":1,"id":"msg_x","role":7}`, "_x"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, turns{say("ok")}, nil)
			e.stores("agents.v1.ws.messages.ses_x " + tt.message)
			if _, err := e.Store().Messages(t.Context(), "ses_x"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Messages: %v, want %q", err, tt.want)
			}
			e.stores("$KV.AGENT_SESSIONS.ws.ses_x " + tt.record)
			_, get := e.Store().Get(t.Context(), "ses_x")
			_, list := e.Store().List(t.Context())
			_, recover := e.Store().Recover(t.Context())
			_, expire := e.Store().Expire(t.Context(), session.Retention{Age: 1}, time.Now())
			for what, err := range map[string]error{"Get": get, "List": list, "Recover": recover, "Expire": expire} {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: %v, want %q", what, err, tt.want)
				}
			}
		})
	}
}

package session_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/store"
)

// stores puts what was stored, a subject and its JSON a line, into e's store, as a
// worker of before schema 3 has left it, and returns that.
func (e *env) stores(lines string) *store.Store {
	e.t.Helper()
	if _, err := e.bus.EnsureStream(e.t.Context(), jetstream.StreamConfig{Name: "AGENT_MESSAGES", Subjects: []string{"agents.v1.*.messages.*"}}); err != nil {
		e.t.Fatal(err)
	}
	for line := range strings.Lines(lines) {
		subject, data, _ := strings.Cut(strings.TrimSpace(line), " ")
		subject = strings.ReplaceAll(subject, "shop.", "ws.") // the workspace of these tests
		if _, err := e.bus.JetStream().Publish(e.t.Context(), subject, []byte(data)); err != nil {
			e.t.Fatal(err)
		}
	}
	sessions, err := store.Open(e.t.Context(), e.bus)
	if err != nil {
		e.t.Fatal(err)
	}
	return sessions
}

// TestSchema1: what workers of before the fields closed, endedBy and payloadRef
// have stored (testdata/schema1.txt, by such a one) is read as if it were today's.
func TestSchema1(t *testing.T) {
	stored, err := os.ReadFile("testdata/schema1.txt")
	if err != nil {
		t.Fatal(err)
	}
	e := newEnv(t, turns{say("ok")}, nil)
	sessions := e.stores(string(stored))
	// The same, killed while it ran.
	running := strings.NewReplacer(`"completed"`, `"running"`, "ses_6xrawitmui6joh45", "ses_killed")
	e.stores(running.Replace(strings.SplitAfter(string(stored), "\n")[1]))

	e.gone("boot_ihwztmv2ca6oyaqe")
	if n, err := e.Store().Recover(t.Context()); n != 1 || err != nil {
		t.Errorf("Recover: %d, %v, want the running one alone", n, err)
	}
	for id, want := range map[string]store.Record{
		"ses_5yuflut6vxzv26br": {Status: store.Completed, Agent: "explore", Steps: 3, Depth: 1},
		"ses_6xrawitmui6joh45": {Status: store.Completed, Steps: 1},
		"ses_killed":           {Status: store.Interrupted, Steps: 1},
	} {
		r := e.stored(id)
		if r.Status != want.Status || r.Agent != want.Agent || r.Steps != want.Steps || r.Depth != want.Depth || !r.Closed || r.Schema != store.RecordSchema {
			t.Errorf("%s: %+v", id, r)
		}
	}
	messages, err := sessions.Messages(t.Context(), "ses_5yuflut6vxzv26br")
	if err != nil || len(messages) != 6 {
		t.Fatalf("%d messages, %v, want 6", len(messages), err)
	}
	if first, last := messages[0], messages[5]; first.Text != "Where is the retry delay?" || last.Role != model.Assistant || !strings.HasPrefix(last.Text, "The best match is `a.go:1`") {
		t.Errorf("messages %+v … %+v", first, last)
	}
	if _, err := sessions.Delete(t.Context(), "ses_6xrawitmui6joh45"); err != nil {
		t.Fatal(err)
	}
	if messages, err := e.bus.JetStream().Stream(t.Context(), "AGENT_MESSAGES"); err != nil || messages.CachedInfo().State.Msgs != 0 {
		t.Errorf("messages of deleted sessions: %+v, %v", messages.CachedInfo().State, err)
	}
}

// TestForeignSchema: what a newer worker has stored is refused, and so is what
// no worker has; both say what to do.
func TestForeignSchema(t *testing.T) {
	for name, tt := range map[string]struct{ record, message, want string }{
		"newer": {
			`{"schema":9,"id":"ses_x","status":"running"}`, `{"schema":9,"id":"msg_x","role":"user"}`,
			"_x was stored by a newer worker (schema 9, this one knows up to ",
		},
		"none":            {`{"id":"ses_x","status":"running"}`, `{"id":"msg_x"}`, "_x: it has no schema"},
		"not an object":   {`[]`, `"text"`, "reading a stored "},
		"cut off":         {`{"schema":2,"id":"ses_x"`, `{"schema":2,"id":`, "reading a stored "},
		"wrong in field":  {`{"schema":2,"id":"ses_x","status":7}`, `{"schema":2,"id":"msg_x","role":7}`, "_x: "},
		"wrong in a step": {`{"schema":1,"id":"ses_x","status":7}`, `{"schema":1,"id":"msg_x","role":7}`, "_x"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, turns{say("ok")}, nil)
			sound := e.stored(e.open(session.Spec{}).ID())
			sessions := e.stores(fmt.Sprintf("agents.v1.ws.messages.%s %s", sound.ID, tt.message))
			if err := e.bus.Purge(t.Context(), sound.Path); err != nil { // no log has the messages
				t.Fatal(err)
			}
			if _, err := sessions.Messages(t.Context(), sound.ID); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Messages: %v, want %q", err, tt.want)
			}
			e.stores("$KV.AGENT_SESSIONS.ws.ses_x " + tt.record)
			_, get := e.Store().Get(t.Context(), "ses_x")
			_, list := e.Store().List(t.Context())
			_, recover := e.Store().Recover(t.Context())
			_, expire := e.Store().Expire(t.Context(), store.Retention{Age: 1}, time.Now())
			for what, err := range map[string]error{"Get": get, "List": list, "Recover": recover, "Expire": expire} {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: %v, want %q", what, err, tt.want)
				}
			}
		})
	}
}

// TestSchema3: what a worker of before schema 4 has stored (testdata/schema3.txt, by such
// a one), with the kind of each entry and event in its subject, is read as today's, and
// ended wherever that worker was killed.
func TestSchema3(t *testing.T) {
	data, err := os.ReadFile("testdata/schema3.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	log, records, _ := strings.Cut(string(data), "$KV.")
	root := event.Path(nil).Child("ses_nm2o3hjfrjdrmzl2", "")
	child := root.Child("ses_teizfnq3gjqk2his", "explore")

	e := newEnv(t, turns{say("and again")}, nil)
	e.clear(eventbus.Stream, "KV_AGENT_SESSIONS")
	sessions := e.stores(log + "$KV." + records)
	messages, err := sessions.Messages(t.Context(), child.IDs()[1])
	if err != nil || len(messages) != 8 {
		t.Errorf("%d messages, %v, want 8: the prompt, three of calls with their results, the answer", len(messages), err)
	}
	r := e.stored(child.IDs()[1])
	if answer, err := sessions.LastAnswer(t.Context(), r); err != nil || !strings.HasPrefix(answer, "`a.go:4`") {
		t.Errorf("the answer %q, %v", answer, err)
	}
	if n, err := sessions.Rebuild(t.Context()); n != 0 || err != nil {
		t.Errorf("%d records are not as the logs have them, %v", n, err)
	}
	rest, err := sessions.Remaining(t.Context(), r, 1)
	if err != nil || !rest.More || rest.Live {
		t.Errorf("what remains of its stream: %+v, %v", rest, err)
	}

	for n := 2; n <= strings.Count(log, "\n"); n += 3 {
		e.clear(eventbus.Stream, "KV_AGENT_SESSIONS", "KV_AGENT_APPROVALS")
		e.stores(strings.Join(lines[:n], ""))
		e.gone("boot_7yuiu63pbk4xadhg")
		begun := []event.Path{root}
		if n > 6 {
			begun = append(begun, child)
		}
		if t.Run(fmt.Sprint(n), func(t *testing.T) { e.checkRecovery(t, begun) }); t.Failed() {
			return
		}
	}
}

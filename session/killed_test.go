package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/log/logtest"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/session/transcript"
	"github.com/agentworker/worker/tool"
)

// killed is a run that was killed after some of its appends.
type killed struct {
	stored  []*nats.Msg // in the event stream, in order
	records map[string][]*nats.Msg
	paths   []event.Path
	boot    string // of its process
}

// record runs a parent with two children, of which one asks and both call tools,
// and returns all that it has appended.
func recordRun(t *testing.T) *killed {
	t.Helper()
	var e *env
	child := &fakeTool{"child", func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		parent, _ := e.Live(c.SessionID)
		s, err := e.Open(ctx, session.Spec{
			Agent: "child", Parent: parent, ParentMessageID: c.MessageID, System: "child", Tools: []tool.Tool{echo("touch")},
			Rules: permission.MustRuleset(rule("touch", "*", permission.Ask)),
		})
		if err != nil {
			return tool.Result{}, err
		}
		out := s.Prompt(ctx, "look")
		return tool.Result{Text: out.Text}, s.End(out.Status, out.Err)
	}}
	parentTurns := turns{calls(call("1", "child", "x")), calls(call("2", "child", "y")), say("both looked")}
	childTurns := turns{calls(call("1", "touch", "x"), call("2", "touch", "y")), say("done")}
	m := turns{func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		of := parentTurns
		if req.System == "child" {
			of = childTurns
		}
		for p, err := range of.Stream(ctx, req) {
			if !yield(p, err) {
				return
			}
		}
	}}
	e = newEnv(t, m, func(o *session.Options) { o.Approver = approval.AlwaysYes })
	s := e.open(session.Spec{Agent: "lead", Tools: []tool.Tool{child}})
	k := &killed{records: make(map[string][]*nats.Msg), boot: session.BootID(e.Manager)}
	e.end(s, s.Prompt(t.Context(), "go"))
	records, err := e.Store().Index.List(t.Context())
	if err != nil || len(records) != 3 {
		t.Fatalf("%d sessions, %v", len(records), err)
	}
	for _, r := range records {
		k.paths = append(k.paths, r.Path)
	}
	k.stored = e.content(eventbus.Stream)
	for _, r := range records {
		opened := *r
		opened.Status, opened.Closed, opened.Steps, opened.Error = record.Queued, false, 0, ""
		late := opened
		late.Status = record.Running
		for _, r := range []record.Record{opened, late} {
			data, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			k.records[r.ID] = append(k.records[r.ID], &nats.Msg{Subject: "$KV.AGENT_SESSIONS.ws." + r.ID, Data: data})
		}
	}
	return k
}

// content returns what a stream holds, in the order of publication.
func (e *env) content(name string) (all []*nats.Msg) {
	e.t.Helper()
	stream, err := e.bus.JetStream().Stream(e.t.Context(), name)
	if err != nil {
		e.t.Fatal(err)
	}
	for seq := max(1, stream.CachedInfo().State.FirstSeq); seq <= stream.CachedInfo().State.LastSeq; seq++ {
		m, err := stream.GetMsg(e.t.Context(), seq)
		if err != nil {
			e.t.Fatal(err)
		}
		all = append(all, &nats.Msg{Subject: m.Subject, Data: m.Data})
	}
	return all
}

// clear empties a stream.
func (e *env) clear(names ...string) {
	e.t.Helper()
	for _, name := range names {
		stream, err := e.bus.JetStream().Stream(e.t.Context(), name)
		if err == nil {
			err = stream.Purge(e.t.Context())
		}
		if err != nil {
			e.t.Fatal(err)
		}
	}
}

func (e *env) publish(all ...*nats.Msg) {
	e.t.Helper()
	for _, m := range all {
		if _, err := e.bus.JetStream().Publish(e.t.Context(), m.Subject, m.Data); err != nil {
			e.t.Fatal(err)
		}
	}
}

// TestKilledBetweenAppends: a process is killed between the appends of a run, with an index of any
// age. It leaves a legal session, which the next process ends once, a child before its parent.
func TestKilledBetweenAppends(t *testing.T) {
	k := recordRun(t)
	e := newEnv(t, turns{say("ok")}, nil)
	for _, index := range []string{"absent", "opened", "late"} {
		for _, n := range k.points() {
			e.clear(eventbus.Stream, "KV_AGENT_SESSIONS", "KV_AGENT_APPROVALS")
			e.publish(k.stored[:n]...)
			e.gone(k.boot)
			begun := k.begun(k.stored[:n])
			if index != "absent" { // the record may be there before its log
				begun = k.begun(k.stored[:min(n+1, len(k.stored))])
			}
			for _, path := range begun {
				id := path[len(path)-1].SessionID
				switch index {
				case "opened":
					e.publish(k.records[id][0])
				case "late":
					e.publish(k.records[id]...)
				}
			}
			if t.Run(fmt.Sprintf("%s/%d", index, n), func(t *testing.T) { e.checkRecovery(t, begun) }); t.Failed() {
				return
			}
		}
	}
}

// points returns after how many appends the process is killed: after the first of each kind at
// each depth, or after every one if WORKER_TEST_LONG is set.
func (k *killed) points() []int {
	points, seen := []int{0}, make(map[string]bool)
	for i, m := range k.stored {
		var entry struct{ Type, Status string }
		inner := m.Data
		if at := bytes.Index(m.Data, []byte(`"event":`)); at > 0 { // an envelope
			inner = m.Data[at+len(`"event":`) : len(m.Data)-1]
		}
		kind := string(inner[:min(8, len(inner))])
		if json.Unmarshal(inner, &entry) == nil && entry.Type != "" {
			kind = entry.Type + " " + entry.Status
		}
		kind = fmt.Sprint(strings.Count(m.Subject, "."), kind)
		if !seen[kind] || os.Getenv("WORKER_TEST_LONG") != "" {
			points = append(points, i+1)
		}
		seen[kind] = true
	}
	return points
}

// begun returns the paths of the sessions that have an entry among some.
func (k *killed) begun(stored []*nats.Msg) (begun []event.Path) {
	for _, path := range k.paths {
		own := "." + path[len(path)-1].SessionID + "."
		if slices.ContainsFunc(stored, func(m *nats.Msg) bool {
			return strings.Contains(m.Subject, own) && strings.HasSuffix(m.Subject, own+m.Subject[strings.LastIndexByte(m.Subject, '.')+1:])
		}) {
			begun = append(begun, path)
		}
	}
	return begun
}

// checkRecovery recovers the sessions of paths, twice, and checks what is left.
func (e *env) checkRecovery(t *testing.T, paths []event.Path) {
	sessions, err := store.Open(t.Context(), e.bus)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sessions.Recovery.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := len(e.content(eventbus.Stream))
	if n, err := sessions.Recovery.Recover(t.Context()); n != 0 || err != nil {
		t.Errorf("a second Recover: %d, %v", n, err)
	}
	if after := len(e.content(eventbus.Stream)); after != before {
		t.Errorf("a second Recover added %d entries", after-before)
	}
	ended := make(map[string]uint64)
	for _, path := range paths {
		id := path[len(path)-1].SessionID
		var entries []log.Entry
		ends, starts := 0, 0
		for entry, err := range e.bus.Log(t.Context(), path) {
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, log.Entry(entry))
			switch entry.Kind {
			case "session_end":
				ends++
				ended[id] = entry.Seq
			case "session_start":
				starts++
			}
		}
		if ends != 1 || starts != 1 || entries[len(entries)-1].Kind != "session_end" {
			t.Errorf("%s has %d starts and %d ends", id, starts, ends)
		}
		st, err := log.Fold(slices.Values(entries))
		if err != nil {
			t.Fatal(err)
		}
		logtest.CheckLegal(t, st)
		if len(st.Pending) > 0 {
			t.Errorf("%s still asks %v", id, st.Pending)
		}
		r, err := sessions.Index.Get(t.Context(), id)
		if err != nil || !r.Closed || r.Status != st.Record.Status || r.Steps != st.Record.Steps {
			t.Errorf("the record %+v, %v; its log: %+v", r, err, st.Record)
		}
	}
	for _, path := range paths {
		if len(path) > 1 {
			child, parent := path[len(path)-1].SessionID, path[len(path)-2].SessionID
			if ended[parent] < ended[child] {
				t.Errorf("%s ended before its child %s", parent, child)
			}
		}
	}
}

// TestRebuild: without the bucket, the sessions are listed with the same records and transcripts.
func TestRebuild(t *testing.T) {
	e := newEnv(t, turns{calls(call("1", "a", "x")), say("ok")}, nil)
	root := e.open(session.Spec{Agent: "primary", Description: "a root"})
	for _, status := range []record.Status{record.Completed, record.Failed, record.Cancelled, record.TimedOut} {
		s := e.open(session.Spec{Parent: root, ParentMessageID: "msg_1", Tools: []tool.Tool{echo("a")}})
		s.Prompt(t.Context(), "go")
		var why error
		if status != record.Completed {
			why = fmt.Errorf("it is %s", status)
		}
		e.end(s, session.Outcome{Status: status, Err: why})
	}
	caller, err := e.Open(t.Context(), session.Spec{Tools: []tool.Tool{echo("a")}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := caller.Call(t.Context(), "a", json.RawMessage(`{"v":"x"}`)); err != nil {
			t.Fatal(err)
		}
	}
	e.end(caller, session.Outcome{Status: record.Completed})
	e.end(root, session.Outcome{Status: record.Interrupted})
	all := func(sessions *store.Store) string {
		records, err := sessions.Index.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, r := range records {
			messages, err := sessions.Transcripts.Messages(t.Context(), r.ID)
			data, jsonErr := json.Marshal(r)
			if err != nil || jsonErr != nil {
				t.Fatal(err, jsonErr)
			}
			fmt.Fprintf(&b, "%s\n%s\n", data, transcript.Markdown(r, messages))
		}
		return b.String()
	}
	before := all(e.Store())
	if n, err := e.Store().Integrity.Rebuild(t.Context()); n != 0 || err != nil {
		t.Errorf("Rebuild of what is right changed %d, %v", n, err)
	}
	if err := e.bus.JetStream().DeleteKeyValue(t.Context(), "AGENT_SESSIONS"); err != nil {
		t.Fatal(err)
	}
	sessions, err := store.Open(t.Context(), e.bus)
	if err != nil {
		t.Fatal(err)
	}
	check, err := sessions.Integrity.Check(t.Context(), 0)
	if err != nil || check.Logs != 6 || check.Records != 0 || len(check.Missing) != 6 {
		t.Errorf("Check: %+v, %v", check, err)
	}
	if n, err := sessions.Integrity.Rebuild(t.Context()); n != 6 || err != nil {
		t.Errorf("Rebuild: %d, %v", n, err)
	}
	if after := all(sessions); after != before {
		t.Errorf("after the rebuild:\n%s\nbefore:\n%s", after, before)
	}
}

package session_test

import (
	"encoding/json"
	"testing"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/tool"
)

// TestIndexBehind: other processes find a session once they see an event of it, and its end once its
// session_end is stored, with its messages. The bucket may still lack them.
func TestIndexBehind(t *testing.T) {
	e := newEnv(t, turns{calls(call("1", "a", "x")), say("ok")}, nil)
	other, err := store.Open(t.Context(), e.bus)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		s := e.open(session.Spec{Tools: []tool.Tool{echo("a")}})
		for _, err := range e.bus.Follow(t.Context(), s.Path(), &eventbus.FollowOptions{Live: true}) {
			if err != nil {
				t.Fatal(err)
			}
			break // somebody has seen it
		}
		if r, err := other.Index.Get(t.Context(), s.ID()); err != nil || r.ID != s.ID() || r.Status.Ended() {
			t.Fatalf("a session that was opened just now: %+v, %v", r, err)
		}
		e.end(s, s.Prompt(t.Context(), "go"))
		r, err := other.Index.Get(t.Context(), s.ID())
		if err != nil || !r.Closed || r.Status != record.Completed || r.Steps != 2 {
			t.Fatalf("a session that has ended just now: %+v, %v", r, err)
		}
		if messages, err := other.Transcripts.Messages(t.Context(), s.ID()); err != nil || len(messages) != 4 {
			t.Fatalf("its messages: %d, %v", len(messages), err)
		}
	}
	records, err := other.Index.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if !r.Closed {
			t.Errorf("listed: %+v", r)
		}
	}
}

// TestIndexIsComplete: once the manager is closed, the bucket has all records as
// their sessions were last.
func TestIndexIsComplete(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	want := make(map[string]record.Record)
	for i := range 200 {
		s := e.open(session.Spec{})
		if i%2 == 0 {
			e.end(s, s.Prompt(t.Context(), "go"))
		}
		want[s.ID()] = s.Record()
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	kv, err := e.bus.JetStream().KeyValue(t.Context(), "AGENT_SESSIONS")
	if err != nil {
		t.Fatal(err)
	}
	for id, r := range want {
		entry, err := kv.Get(t.Context(), "ws."+id)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := json.Marshal(r); err != nil || string(entry.Value()) != string(data) {
			t.Errorf("stored is %s, %v; want %s", entry.Value(), err, data)
		}
	}
}

// TestIndexIsLost: the records of sessions that run when the bucket is emptied are
// there again once they have ended, and one that was deleted is not.
func TestIndexIsLost(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	kept, deleted := e.open(session.Spec{}), e.open(session.Spec{})
	e.stored(kept.ID())
	e.clear("KV_AGENT_SESSIONS")
	e.end(kept, kept.Prompt(t.Context(), "go"))
	if r := e.stored(kept.ID()); !r.Closed || r.Status != record.Completed {
		t.Errorf("record %+v", r)
	}
	e.end(deleted, session.Outcome{Status: record.Completed})
	if n, err := e.Store().Retention.Delete(t.Context(), deleted.ID()); n != 1 || err != nil {
		t.Errorf("Delete: %d, %v", n, err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if records, err := e.Store().Index.List(t.Context()); err != nil || len(records) != 1 {
		t.Errorf("%d records, %v, want the one that was not deleted", len(records), err)
	}
}

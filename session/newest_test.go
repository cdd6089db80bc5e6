package session_test

import (
	"testing"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
)

// TestCheckOfNewest: a check that is to read a part of the events says how many it has not
// read, and compares the index with all logs.
func TestCheckOfNewest(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	for range 3 {
		s := e.open(session.Spec{})
		e.end(s, session.Outcome{Status: record.Completed})
	}
	stream, err := e.bus.JetStream().Stream(t.Context(), eventbus.Stream)
	if err != nil {
		t.Fatal(err)
	}
	all := stream.CachedInfo().State.Msgs
	for _, tt := range []struct{ newest, unread uint64 }{{0, 0}, {all, 0}, {all + 5, 0}, {4, all - 4}} {
		check, err := e.Store().Integrity.Check(t.Context(), tt.newest)
		if err != nil {
			t.Fatal(err)
		}
		if check.Unread != tt.unread || check.Logs != 3 || check.Records != 3 || len(check.Findings) > 0 {
			t.Errorf("a check of the newest %d of %d: %+v, want %d unread", tt.newest, all, check, tt.unread)
		}
	}
}

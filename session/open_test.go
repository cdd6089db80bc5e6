package session_test

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
)

// TestOpenCutShort: a caller that leaves while its session opens either gets the session or leaves
// none.
func TestOpenCutShort(t *testing.T) {
	e := newEnv(t, turns{say("x")}, nil)
	cut := make(chan context.CancelFunc, 1)
	stored, err := e.bus.Conn().Subscribe("$KV.AGENT_SESSIONS.>", func(*nats.Msg) {
		select {
		case cancel := <-cut: // before the store has said that it has the record
			cancel()
		default:
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		select {
		case <-cut: // of one before, of which no record was stored
		default:
		}
		cut <- cancel
		if s, err := e.Open(ctx, session.Spec{Agent: "agent"}); err == nil {
			e.end(s, session.Outcome{Status: record.Cancelled, Err: context.Canceled})
		}
		cancel()
	}
	if err := stored.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	records, err := e.Store().Index.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if !r.Status.Ended() {
			t.Errorf("session %s is left behind, %s", r.ID, r.Status)
		}
	}
}

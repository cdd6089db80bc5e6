package taskt_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/eventbus/bustest"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
)

// TestTakeoverDetached: a detached subagent is claimed after a kill, whatever the state of its
// caller: ended by its record, ended only by its log, or not to be resumed.
func TestTakeoverDetached(t *testing.T) {
	stored, boot := recordTree(t)
	free, begun := detachedOf(t, stored)
	lead := free[:len(free)-1]
	ended := find(t, stored, lead[len(lead)-1].SessionID, event.SessionEnd{}.Type())
	let := make(chan struct{})
	close(let)
	tree := treeSetup(let, let, make(chan struct{}, len(stored)))
	for name, tt := range map[string]struct {
		at      int
		indexed bool // the records say what the logs do
	}{
		"its caller was within the call that began it":  {at: begun},
		"its caller was ending":                         {at: ended - 1},
		"its caller's log alone says that it has ended": {at: ended},
		"its caller's record says that it has ended":    {at: ended, indexed: true},
	} {
		t.Run(name, func(t *testing.T) {
			bus := openBus(t, t.TempDir())
			killAt(t, bus, stored[:tt.at], boot)
			sessions, err := store.Open(t.Context(), bus)
			if err == nil && tt.indexed {
				_, err = sessions.Integrity.Rebuild(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			e, records := tree.over(t, bus)
			checkTold(t, bus, e.sessions.Store(), make(map[string]string))
			for _, r := range records {
				checkRuns(t, bus, r)
			}
			if r := recordOf(t, e, free[len(free)-1].SessionID); r.Status != record.Completed || r.Takeovers != 1 {
				t.Errorf("it is %s after %d takeovers: %s", r.Status, r.Takeovers, r.Error)
			}
		})
	}
}

// detachedOf returns the detached subagent of [recordTree], and how many messages there are
// when its model has its task.
func detachedOf(t *testing.T, stored []*nats.Msg) (path event.Path, begun int) {
	t.Helper()
	for _, m := range stored {
		var opened struct {
			Detached bool       `json:"detached"`
			Path     event.Path `json:"path"`
		}
		if _, data := bustest.Stored(m); json.Unmarshal(data, &opened) == nil && opened.Detached {
			return opened.Path, find(t, stored, opened.Path[len(opened.Path)-1].SessionID, "message")
		}
	}
	t.Fatal("there is no detached subagent")
	return nil, 0
}

// find returns how many messages there are when the first of a kind is stored of a session.
func find(t *testing.T, stored []*nats.Msg, id, kind string) int {
	t.Helper()
	for i, m := range stored {
		own := m.Subject[:strings.LastIndexByte(m.Subject, '.')]
		if has, _ := bustest.Stored(m); has == kind && strings.HasSuffix(own, id) {
			return i + 1
		}
	}
	t.Fatalf("session %s has no %s", id, kind)
	return 0
}

// Package logtest is for tests of what is stored of sessions.
package logtest

import (
	"testing"

	"github.com/agentworker/worker/session/log"
)

// CheckLegal fails t unless a state is one that a session can be in.
func CheckLegal(t *testing.T, st *log.State) {
	t.Helper()
	if st.Record.Closed != st.Record.Status.Ended() {
		t.Errorf("closed %t, status %s", st.Record.Closed, st.Record.Status)
	}
	calls, results := make(map[string]bool), make(map[string]bool)
	for _, m := range st.Messages {
		for _, c := range m.ToolCalls {
			if calls[c.ID] {
				t.Errorf("the call %s is there twice", c.ID)
			}
			calls[c.ID] = true
		}
		for _, r := range m.ToolResults {
			if !calls[r.ToolCallID] || results[r.ToolCallID] {
				t.Errorf("the result of %s is there twice, or before its call", r.ToolCallID)
			}
			results[r.ToolCallID] = true
		}
	}
	for _, c := range st.Open {
		if !calls[c.ID] || results[c.ID] {
			t.Errorf("%s is open, and was not made or has a result", c.ID)
		}
	}
}

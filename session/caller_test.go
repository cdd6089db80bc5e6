package session_test

import (
	"sync"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

// TestStatusOfCalls: a caller's session is never shown as idle while one of its calls runs, even
// if the call began when the last one ended.
func TestStatusOfCalls(t *testing.T) {
	e := newEnv(t, nil, nil)
	s, err := e.Open(t.Context(), session.Spec{Tools: []tool.Tool{echo("look")}})
	if err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	for range 2 {
		callers.Go(func() {
			for range 1000 {
				if _, err := s.Call(t.Context(), "look", []byte(`{"v": "x"}`)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
	e.end(s, session.Outcome{Status: record.Completed})
	running, shown := 0, event.StatusQueued
	for i, ev := range e.events(s) {
		switch ev := ev.(type) {
		case event.StatusChange:
			shown = ev.Status
		case event.ToolCallStart:
			running++
		case event.TurnComplete:
			running--
		}
		if running > 0 && shown == event.StatusIdle {
			t.Fatalf("after event %d it is idle, and %d calls run", i, running)
		}
	}
}

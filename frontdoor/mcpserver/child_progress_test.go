package mcpserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/live"
)

// TestChildProgress: what a child does reaches the progress of its session and
// no other, in whatever order reading begins. Progress that nobody reads and that
// has ended is forgotten.
func TestChildProgress(t *testing.T) {
	all := newProgressTracker()
	child := func(session string, ev event.Event) *live.Question {
		_, required := all.event(eventbus.Delivery{Raw: encode(t, event.SubagentEvent{AgentType: "x", SessionID: session, Event: encode(t, ev)})})
		return required
	}
	step := func(n int) event.Event {
		return event.ToolCallStart{ToolName: "grep", Step: n, Arguments: `{"pattern":"p"}`}
	}
	child("a", step(1)) // before anybody reads it
	a, b := all.of("a"), all.of("b")
	child("b", step(7))
	now := a.since(0)
	if want := []string{"x: step 1: grep p"}; !slices.Equal(now.messages, want) {
		t.Errorf("a: %q, want %q", now.messages, want)
	}
	child("b", step(8))
	select {
	case <-now.changed:
		t.Error("a changed with b")
	default:
	}
	if messages, n := b.last(); messages != "x: step 8: grep p" || !slices.Equal(b.since(n).messages, []string{messages}) {
		t.Errorf("b for a new reader: %q, %q, want step 8", messages, b.since(n).messages)
	}
	for i := range maxMessages + 5 { // more than is kept
		child("a", step(i+2))
	}
	<-now.changed
	if now = a.since(now.n); len(now.messages) != maxMessages || now.messages[maxMessages-1] != fmt.Sprintf("x: step %d: grep p", maxMessages+6) {
		t.Errorf("a slow reader gets %d, the last %q", len(now.messages), now.messages[len(now.messages)-1])
	}

	all.event(eventbus.Delivery{Raw: json.RawMessage(`rubbish`)})
	child("a", event.Unknown{TypeName: "new", Raw: json.RawMessage(`{"type":"new"}`)})

	// An approval of a child's own child is the child's to ask.
	required := child("b", event.SubagentEvent{AgentType: "y", SessionID: "c", Event: encode(t, event.ToolApprovalRequired{ApprovalID: "apr_1", ToolName: "shell_exec"})})
	if required == nil || required.ApprovalID != "apr_1" {
		t.Fatalf("required %+v, want apr_1", required)
	}
	q := &question{id: required.ApprovalID, over: make(chan struct{})}
	b.ask(q)
	if got := b.since(0).questions; len(got) != 1 || got[0] != q {
		t.Errorf("questions %v, want apr_1", got)
	}
	child("b", event.SubagentEvent{AgentType: "y", SessionID: "c", Event: encode(t, event.ToolApprovalResolved{ApprovalID: "apr_1", Outcome: event.Denied})})
	<-q.over
	if got := b.since(0).questions; len(got) != 0 {
		t.Errorf("questions %v after the answer, want none", got)
	}

	child("a", event.SessionEnd{Status: "completed"})
	all.forget("b")
	if len(all.byID) != 2 {
		t.Errorf("%d are kept, want both: a may be read, b may go on", len(all.byID))
	}
	all.forget("a")
	child("b", event.SessionEnd{Status: "completed"})
	if len(all.byID) != 0 {
		t.Errorf("%d are left", len(all.byID))
	}
}

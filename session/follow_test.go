package session_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/tool"
)

// TestFollowNew: a late follower gets the open questions, without the answered ones, and then each
// new event once, in order, up to the end.
func TestFollowNew(t *testing.T) {
	e := newEnv(t, turns{calls(call("1", "a", "x"), call("2", "a", "y")), say("done")}, nil)
	e.static.rules = permission.MustRuleset(rule("*", "*", permission.Ask))
	root := e.open(session.Spec{Agent: "primary"})
	s := e.open(session.Spec{Parent: root, Tools: []tool.Tool{echo("a")}})
	out := make(chan session.Outcome)
	go func() { out <- s.Prompt(t.Context(), "go") }()

	// Both questions are asked, then one is answered.
	var asked []eventbus.Delivery
	for d, err := range e.bus.Follow(t.Context(), root.Path(), &eventbus.FollowOptions{Live: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if innerType(t, d.Raw) == "tool_approval_required" {
			asked = append(asked, d)
		}
		if len(asked) == 2 {
			break
		}
	}
	pending, err := e.Store().Approvals.Pending(t.Context())
	if err != nil || len(pending) != 2 {
		t.Fatalf("%d approvals wait, %v", len(pending), err)
	}
	for d, err := range e.bus.Follow(t.Context(), s.Path(), &eventbus.FollowOptions{Live: true}) {
		if err != nil {
			t.Fatal(err)
		}
		ev, err := event.Decode(d.Raw)
		if err != nil {
			t.Fatal(err)
		}
		if q, ok := ev.(event.ToolApprovalRequired); ok && q.ApprovalID == pending[0].ID {
			if _, err := e.Store().Approvals.Answer(t.Context(), q.ApprovalID, approval.Answer{Verdict: approval.ApproveOnce}); err != nil {
				t.Fatal(err)
			}
		}
		if r, ok := ev.(event.ToolCallEnd); ok && r.ToolCallID == pending[0].ToolCallID {
			break
		}
	}

	var types []string
	var last uint64
	for d, err := range followNew(t, e, root.Path()) {
		if err != nil {
			t.Fatal(err)
		}
		if d.Seq <= last {
			t.Errorf("event %d after %d", d.Seq, last)
		}
		last = d.Seq
		types = append(types, innerType(t, d.Raw))
		if len(types) == 1 { // the question: only now it is answered
			if _, err := e.Store().Approvals.Answer(t.Context(), pending[1].ID, approval.Answer{Verdict: approval.ApproveOnce}); err != nil {
				t.Fatal(err)
			}
			o := <-out
			e.end(s, o)
			e.end(root, o)
		}
	}
	want := []string{"tool_approval_required", "tool_approval_resolved", "status_change", "tool_call_end", "status_change",
		"content_delta", "usage", "status_change", "turn_complete", "session_end", "session_end"}
	if !slices.Equal(types, want) {
		t.Errorf("got  %v\nwant %v", types, want)
	}

	for d := range followNew(t, e, root.Path()) {
		t.Errorf("after the end: %s", d.Raw)
	}
}

// innerType returns the type of an event without its envelopes.
func innerType(t *testing.T, raw []byte) string {
	t.Helper()
	for {
		ev, err := event.Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		env, ok := ev.(event.SubagentEvent)
		if !ok {
			return ev.Type()
		}
		raw = env.Event
	}
}

func followNew(t *testing.T, e *env, path event.Path) iter.Seq2[eventbus.Delivery, error] {
	t.Helper()
	_, stream, err := e.Store().Approvals.FollowNew(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// TestFollowNewRace: from any moment on a follower gets each event and the open question once.
func TestFollowNewRace(t *testing.T) {
	step := func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		for range 20 {
			if !yield(model.TextDelta{Text: "x"}, nil) {
				return
			}
		}
		calls(call("1", "a", "x"))(ctx, req, yield)
	}
	e := newEnv(t, turns{step, say("done")}, func(o *session.Options) { o.Approver = approval.AlwaysYes })
	e.static.rules = permission.MustRuleset(rule("*", "*", permission.Ask))
	for range 20 {
		s := e.open(session.Spec{Tools: []tool.Tool{echo("a")}})
		out := make(chan session.Outcome)
		go func() { out <- s.Prompt(t.Context(), "go") }()
		followed := make(chan []eventbus.Delivery)
		go func() {
			var got []eventbus.Delivery
			for d, err := range followNew(t, e, s.Path()) {
				if err != nil {
					t.Error(err)
				}
				got = append(got, d)
			}
			followed <- got
		}()
		e.end(s, <-out)
		got := <-followed
		var all []uint64
		for d, err := range e.bus.Follow(t.Context(), s.Path(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, d.Seq)
		}
		if len(got) == 0 {
			continue // it came after the end
		}
		var seqs []uint64
		for _, d := range got {
			seqs = append(seqs, d.Seq)
		}
		if innerType(t, got[0].Raw) == "tool_approval_required" {
			seqs = seqs[1:] // it may come before the missed events
		}
		if len(seqs) > 0 && !slices.Equal(seqs, all[slices.Index(all, seqs[0]):]) {
			t.Errorf("followed %v of %v", seqs, all)
		}
	}
}

package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/secrets/secretstest"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

// store writes a record as another process, or a lost acknowledgement, would.
func (e *env) store(r record.Record) {
	e.t.Helper()
	e.stored(r.ID) // what the session has still to write is written
	data, err := json.Marshal(r)
	if err != nil {
		e.t.Fatal(err)
	}
	kv, err := e.bus.JetStream().KeyValue(e.t.Context(), "AGENT_SESSIONS")
	if err != nil {
		e.t.Fatal(err)
	}
	if _, err := kv.Put(e.t.Context(), "ws."+r.ID, data); err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) stored(id string) *record.Record {
	e.t.Helper()
	r, err := e.Store().Index.Get(e.t.Context(), id)
	if err != nil {
		e.t.Fatal(err)
	}
	return r
}

// limit bounds what the event stream takes, in bytes a message; -1 is no bound.
func (e *env) limit(bytes int32) {
	e.t.Helper()
	stream, err := e.bus.JetStream().Stream(e.t.Context(), eventbus.Stream)
	if err != nil {
		e.t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.MaxMsgSize = bytes
	if _, err := e.bus.JetStream().UpdateStream(e.t.Context(), cfg); err != nil {
		e.t.Fatal(err)
	}
}

// TestRefusedEvent: a session fails if the store refuses one of its events, and its stream shows it.
func TestRefusedEvent(t *testing.T) {
	m := turns{func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		if yield(model.TextDelta{Text: strings.Repeat("x", 64<<10)}, nil) {
			say("and done")(ctx, req, yield)
		}
	}}
	e := newEnv(t, m, nil)
	e.limit(32 << 10)
	s := e.open(session.Spec{})
	out := s.Prompt(t.Context(), "go")
	if err := s.End(out.Status, out.Err); err == nil {
		t.Error("End did not tell of the refused event")
	}
	if r := e.stored(s.ID()); r.Status != record.Failed || !r.Closed {
		t.Errorf("record %+v", r)
	}
	if got := types(e.events(s)); !strings.HasSuffix(got, "=error error session_end") {
		t.Errorf("events %s", got)
	}
}

// TestRefusedStart: a session of which the store has taken nothing is ended once the store
// takes it, and its stream begins like any other.
func TestRefusedStart(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	e.limit(16)
	id := record.NewID("ses")
	s, err := e.Open(t.Context(), session.Spec{ID: id, Agent: "explore"})
	if err == nil { // the refusal comes later
		err = s.End(record.Completed, nil)
	}
	if err == nil {
		t.Fatal("nobody is told that nothing was stored")
	}
	e.limit(-1)
	e.stored(id)
	if !session.Sweep(t.Context(), e.Manager) {
		t.Error("the sweep has not looked at all")
	}
	r := e.stored(id)
	if r.Status != record.Failed || !r.Closed {
		t.Errorf("record %+v", r)
	}
	var got []string
	for d, err := range e.bus.Follow(t.Context(), r.Path, nil) {
		if err != nil {
			t.Fatal(err)
		}
		_, ev, err := d.Event()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ev.Type())
	}
	if text := strings.Join(got, " "); text != "session_start session_end" {
		t.Errorf("events %s", text)
	}
}

// TestEndsBehindLost: where the store has not taken the end of a session, that of the one
// above it waits until it is made up for.
func TestEndsBehindLost(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	root := e.open(session.Spec{Agent: "lead"})
	if _, err := root.Settle(t.Context()); err != nil { // all of it is stored
		t.Fatal(err)
	}
	e.limit(16)
	id := record.NewID("ses")
	child, err := e.Open(t.Context(), session.Spec{ID: id, Agent: "explore", Parent: root})
	if err == nil {
		err = child.End(record.Completed, nil)
	}
	if err == nil {
		t.Fatal("nobody is told that nothing was stored")
	}
	e.limit(-1)
	if err := root.End(record.Completed, nil); err != nil {
		t.Error(err)
	}
	ends := make(map[string]uint64)
	for _, path := range []event.Path{root.Path(), root.Path().Child(id, "explore")} {
		end, err := e.bus.Last(t.Context(), path, event.SessionEnd{}.Type())
		if err != nil {
			t.Fatal(err)
		}
		ends[path[len(path)-1].SessionID] = end.Seq
	}
	if r := e.stored(id); r.Status != record.Failed {
		t.Errorf("the subagent is %s, %s", r.Status, r.Error)
	}
	if ends[id] == 0 || ends[id] > ends[root.ID()] {
		t.Errorf("the subagent ends with event %d, its caller with %d", ends[id], ends[root.ID()])
	}
}

// TestLargePayloads: an event and a message that are too large for one message
// of the store come back unchanged, except for a credential, and are deleted with their session.
func TestLargePayloads(t *testing.T) {
	text := strings.Repeat("line of a large result \u2028\n", 400_000) + secretstest.Keys["GitHub"] // 10 MB, more as JSON
	masked := secrets.Mask(text)
	big := &fakeTool{"big", func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Result{Text: text}, nil
	}}
	e := newEnv(t, turns{calls(call("1", "big", "x")), say("ok")}, nil)
	root := e.open(session.Spec{Agent: "primary"})
	s := e.open(session.Spec{Parent: root, Tools: []tool.Tool{big}})
	out := s.Prompt(t.Context(), "go")
	e.end(s, out)
	e.end(root, session.Outcome{Status: record.Completed})
	if out.Status != record.Completed {
		t.Fatalf("outcome %+v", out)
	}
	var got string
	for _, ev := range e.events(s) {
		if end, ok := ev.(event.ToolCallEnd); ok {
			got = end.Result
		}
	}
	if got != masked || masked == text {
		t.Errorf("the event has a result of %d bytes, want %d", len(got), len(masked))
	}
	messages, err := e.Store().Transcripts.Messages(t.Context(), s.ID())
	if err != nil || len(messages) != 4 || messages[2].ToolResults[0].Text != masked {
		t.Errorf("%d messages, %v", len(messages), err)
	}
	objects, err := e.bus.JetStream().ObjectStore(t.Context(), "AGENT_PAYLOADS")
	if err != nil {
		t.Fatal(err)
	}
	if list, err := objects.List(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("objects: %d, %v, want the event's", len(list), err)
	}
	if n, err := e.Store().Retention.Delete(t.Context(), root.ID()); n != 2 || err != nil {
		t.Fatalf("Delete: %d, %v", n, err)
	}
	if list, err := objects.List(t.Context()); !errors.Is(err, jetstream.ErrNoObjectsFound) {
		t.Errorf("after the deletion there are %d objects, %v", len(list), err)
	}
}

// TestConflict: a record that was stored, its acknowledgement lost, does not
// keep the session from going on; one that another process has taken over does.
func TestConflict(t *testing.T) {
	e := newEnv(t, turns{func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		if req.System == "hang" {
			hang(ctx, req, yield)
			return
		}
		say("ok")(ctx, req, yield)
	}}, nil)
	s := e.open(session.Spec{})
	e.store(s.Record()) // the revision is another now
	out := s.Prompt(t.Context(), "go")
	e.end(s, out)
	if r := e.stored(s.ID()); out.Text != "ok" || r.Status != record.Completed || r.Steps != 1 {
		t.Errorf("outcome %+v, record %+v", out, r)
	}

	taken := e.open(session.Spec{System: "hang"})
	r := *e.stored(taken.ID())
	r.BootID = "another"
	e.store(r)
	if out := taken.Prompt(t.Context(), "go"); out.Status != record.Failed || !errors.Is(out.Err, record.ErrEnded) {
		t.Errorf("a session of another process went on: %+v", out)
	}
}

// TestModelPanics: a panic in the loop ends its session in order, and no other session.
func TestModelPanics(t *testing.T) {
	e := newEnv(t, turns{func(context.Context, *model.Request, func(model.Part, error) bool) { panic("boom") }}, nil)
	s := e.open(session.Spec{})
	out := s.Prompt(t.Context(), "go")
	e.end(s, out)
	if out.Status != record.Failed || !strings.Contains(out.Err.Error(), "boom") {
		t.Errorf("outcome %+v", out)
	}
	if got := types(e.events(s)); !strings.HasSuffix(got, "error session_end") {
		t.Errorf("events %s", got)
	}
}

// TestKilledAtTheEnd: a process is killed at each point of a session's end. The session still gets
// one session_end, and keeps its outcome.
func TestKilledAtTheEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		status    record.Status // as stored
		published bool          // the session_end is on the stream
		want      record.Status
		reason    event.StopReason
	}{
		"before the record":                      {record.Running, false, record.Interrupted, event.StopStopped},
		"between the record and session_end":     {record.Completed, false, record.Completed, ""},
		"between session_end and the note of it": {record.Completed, true, record.Completed, ""},
		"in the recovery, before session_end":    {record.Interrupted, false, record.Interrupted, ""},
		"in the recovery, behind session_end":    {record.Interrupted, true, record.Interrupted, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, turns{say("ok")}, nil)
			s := e.open(session.Spec{})
			r := s.Record()
			r.Status = tt.status
			e.store(r)
			if tt.published {
				p, err := e.bus.Publisher(s.Path())
				if err != nil {
					t.Fatal(err)
				}
				if err := p.End(t.Context(), event.SessionEnd{Status: tt.status}); err != nil {
					t.Fatal(err)
				}
			}
			if n, err := e.Store().Recovery.Recover(t.Context()); n != 1 || err != nil {
				t.Fatalf("Recover: %d, %v", n, err)
			}
			if n, err := e.Store().Recovery.Recover(t.Context()); n != 0 || err != nil {
				t.Fatalf("a second Recover: %d, %v", n, err)
			}
			if r := e.stored(s.ID()); r.Status != tt.want || !r.Closed {
				t.Errorf("record %+v, want %s", r, tt.want)
			}
			var ends []event.Event
			for _, ev := range e.events(s) {
				if ev.Type() == "session_end" {
					ends = append(ends, ev)
				}
			}
			if want := fmt.Sprint([]event.Event{event.SessionEnd{Status: tt.want, StopReason: tt.reason}}); fmt.Sprint(ends) != want {
				t.Errorf("ends %v, want %s", ends, want)
			}
		})
	}
}

// TestNothingAfterTheEnd: what comes late is not published.
func TestNothingAfterTheEnd(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	slow := &fakeTool{"slow", func(context.Context, *tool.Call) (tool.Result, error) {
		close(started)
		<-ended
		return tool.Result{Text: "late"}, nil
	}}
	e := newEnv(t, turns{say("ok")}, nil)
	s, err := e.Open(t.Context(), session.Spec{Tools: []tool.Tool{slow}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.Call(t.Context(), "slow", json.RawMessage(`{"v":"x"}`)) // how it ends is not the point
	}()
	<-started
	if err := s.End(record.Cancelled, nil); err != nil {
		t.Fatal(err)
	}
	close(ended)
	<-done
	if got := types(e.events(s)); !strings.HasSuffix(got, " session_end") || strings.Count(got, "session_end") != 1 {
		t.Errorf("events %s", got)
	}
	if err := s.End(record.Running, nil); err == nil {
		t.Error("a session ended as running")
	}
}

// TestCancelledQuestion: a call whose question was cut off was not denied by
// anybody, and no further question is asked.
func TestCancelledQuestion(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e := newEnv(t, turns{calls(call("1", "a", "x"), call("2", "a", "y")), say("no")}, func(o *session.Options) {
		o.Approver = approval.ApproverFunc(func(context.Context, *approval.Approval) (approval.Answer, error) {
			cancel()
			return approval.Answer{Verdict: approval.ApproveOnce}, nil
		})
	})
	e.static.rules = permission.MustRuleset(rule("*", "*", permission.Ask))
	s := e.open(session.Spec{Tools: []tool.Tool{&fakeTool{"a", func(context.Context, *tool.Call) (tool.Result, error) {
		t.Error("the call ran")
		return tool.Result{}, nil
	}}}})
	out := s.Prompt(ctx, "go")
	e.end(s, out)
	if out.Status != record.Cancelled {
		t.Errorf("outcome %+v", out)
	}
	messages, err := e.Store().Transcripts.Messages(t.Context(), s.ID())
	if err != nil || len(messages) != 3 {
		t.Fatalf("%d messages, %v: want the prompt, the calls and their results", len(messages), err)
	}
	for _, r := range messages[2].ToolResults {
		if !r.IsError || strings.Contains(r.Text, "denied") {
			t.Errorf("result %+v", r)
		}
	}
}

// TestParentsTimeStandsStill: a parent does not use up its time while its child
// waits for somebody's answer.
func TestParentsTimeStandsStill(t *testing.T) {
	var parentCtx context.Context
	const limit = 3 * time.Second // what the rest takes has to fit in
	e := newEnv(t, turns{calls(call("1", "child", "x")), say("ok")}, nil)
	child := &fakeTool{"child", func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		parentCtx = ctx
		parent, _ := e.Live(c.SessionID)
		s := e.open(session.Spec{Agent: "child", Parent: parent})
		resume := session.HoldTime(s)
		timer := time.NewTimer(limit + limit/5)
		defer timer.Stop()
		select {
		case <-timer.C: // longer than the parent has
		case <-ctx.Done():
			t.Error("the parent's time went on")
		}
		resume()
		return tool.Result{Text: "done"}, s.End(record.Completed, nil)
	}}
	s := e.open(session.Spec{Tools: []tool.Tool{child}, TimeLimit: limit})
	out := s.Prompt(t.Context(), "go")
	e.end(s, out)
	if out.Status != record.Completed {
		t.Errorf("outcome %+v (%v)", out, context.Cause(parentCtx))
	}
}

package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/tool"
)

// awaitApproval returns when a call of any session waits.
func (e *env) awaitApproval() {
	e.t.Helper()
	kv, err := e.bus.JetStream().KeyValue(e.t.Context(), "AGENT_APPROVALS")
	if err != nil {
		e.t.Fatal(err)
	}
	watch, err := kv.WatchAll(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	defer watch.Stop()
	for entry := range watch.Updates() {
		if entry != nil {
			return
		}
	}
}

// started is a model that says when it is asked, and hangs.
func started(asked chan<- struct{}) turns {
	return turns{func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		asked <- struct{}{}
		hang(ctx, req, yield)
	}}
}

// TestStop: a session stops whatever it is at, also for another process, and
// its last event is stored when Stop returns.
func TestStop(t *testing.T) {
	for name, at := range map[string]struct {
		model func(asked chan<- struct{}) model.Model
		wait  func(t *testing.T, e *env, asked <-chan struct{})
	}{
		"in a model call": {
			func(asked chan<- struct{}) model.Model { return started(asked) },
			func(_ *testing.T, _ *env, asked <-chan struct{}) { <-asked },
		},
		"waiting for approval": {
			func(chan<- struct{}) model.Model { return turns{calls(call("1", "ask", "x")), say("done")} },
			func(_ *testing.T, e *env, _ <-chan struct{}) { e.awaitApproval() },
		},
		"before its prompt": {
			func(chan<- struct{}) model.Model { return turns{say("done")} },
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan struct{}, 1)
			e := newEnv(t, turns{say("ok")}, nil)
			e.static.rules = permission.MustRuleset(rule("*", "*", permission.Ask))
			runs, other := e.process(at.model(asked)), e.process(turns{say("ok")})
			s := runs.open(session.Spec{Tools: []tool.Tool{echo("ask")}})
			outcome := make(chan session.Outcome, 1)
			prompt := func() {
				out := s.Prompt(t.Context(), "go")
				_ = s.End(out.Status, out.Err) // the record tells
				outcome <- out
			}
			stopped := make(chan struct{})
			var rec *record.Record
			var err error
			stop := func() {
				defer close(stopped)
				rec, err = other.Store().Recovery.Stop(t.Context(), s.ID(), "alice")
			}
			if at.wait != nil {
				go prompt()
				at.wait(t, e, asked)
				runs.stored(s.ID()) // else the other one may not know it yet
				stop()
			} else {
				go stop()
				ctx, release := s.Bound(t.Context())
				<-ctx.Done() // it has been told
				release()
				prompt()
				<-stopped
			}
			if err != nil || rec.Status != record.Cancelled || !rec.Closed || !strings.Contains(rec.Error, "stopped by alice") {
				t.Fatalf("record %+v, %v, want it cancelled by alice", rec, err)
			}
			if out := <-outcome; out.Status != record.Cancelled {
				t.Errorf("outcome %+v", out)
			}
			if events := e.events(s); ends(events) != 1 || events[len(events)-1] != (event.SessionEnd{Status: "cancelled", StopReason: event.StopStopped}) {
				t.Errorf("events %v", events)
			}
			ended := new(record.EndedError)
			if _, err = other.Store().Recovery.Stop(t.Context(), s.ID(), "bob"); !errors.As(err, &ended) || !errors.Is(err, record.ErrEnded) || ended.Record.ID != s.ID() {
				t.Errorf("a second stop: %v, want that it has ended", err)
			}
		})
	}
}

// TestStopCaller: a session whose caller stays is ended once its calls are over,
// and takes no more.
func TestStopCaller(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil).process(turns{say("ok")})
	runs := make(chan struct{})
	root, err := e.Open(t.Context(), session.Spec{Lasting: true, Tools: []tool.Tool{&fakeTool{"wait", func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		close(runs)
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan session.CallResult, 1)
	go func() {
		res, _ := root.Call(t.Context(), "wait", []byte(`{"v":"x"}`)) // the result tells
		result <- res
	}()
	<-runs
	rec, err := e.Store().Recovery.Stop(t.Context(), root.ID(), "alice")
	if err != nil || rec.Status != record.Cancelled || !rec.Closed {
		t.Fatalf("record %+v, %v", rec, err)
	}
	if res := <-result; !res.IsError || !strings.Contains(res.Text, "stopped by alice") {
		t.Errorf("the call that ran: %+v", res)
	}
	if _, err := root.Call(t.Context(), "wait", []byte(`{"v":"x"}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("a call after it: %v", err)
	}
}

// TestStopPrompted: a session that is prompted again and again is ended once its turn is
// over, and takes no more.
func TestStopPrompted(t *testing.T) {
	asked := make(chan struct{}, 1)
	e := newEnv(t, turns{say("ok")}, nil).process(started(asked))
	s := e.open(session.Spec{Lasting: true})
	outcome := make(chan session.Outcome, 1)
	go func() { outcome <- s.Prompt(t.Context(), "go") }()
	<-asked
	rec, err := e.Store().Recovery.Stop(t.Context(), s.ID(), "alice")
	if err != nil || rec.Status != record.Cancelled || !rec.Closed {
		t.Fatalf("record %+v, %v", rec, err)
	}
	<-s.Done()
	for _, out := range []session.Outcome{<-outcome, s.Prompt(t.Context(), "go on")} {
		if out.Status != record.Cancelled || !strings.Contains(out.Err.Error(), "stopped by alice") {
			t.Errorf("outcome %+v", out)
		}
	}
}

// TestSettle: after a cancelled turn the session waits for its next prompt, and everything that the
// turn has published is stored.
func TestSettle(t *testing.T) {
	asked := make(chan struct{}, 1)
	e := newEnv(t, started(asked), nil)
	s := e.open(session.Spec{})
	ctx, cancel := context.WithCancel(t.Context())
	outcome := make(chan session.Outcome, 1)
	go func() { outcome <- s.Prompt(ctx, "go") }()
	<-asked
	cancel()
	<-outcome
	seq, err := s.Settle(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	last, err := e.bus.Last(t.Context(), s.Path(), event.StatusChange{}.Type())
	if err != nil || !strings.Contains(string(last.Raw), `"idle"`) {
		t.Errorf("its last status is %s, %v", last.Raw, err)
	}
	if newest, err := e.bus.Newest(t.Context()); err != nil || seq == 0 || seq > newest {
		t.Errorf("the number of the event is %d of %d, %v", seq, newest, err)
	}
	if err := s.End(record.Cancelled, nil); err != nil {
		t.Error(err)
	}
}

// TestStopForced: a stopped session that does not end is ended by another process, with everything
// below it that is not detached. Nothing is stored after that.
func TestStopForced(t *testing.T) {
	asked, let := make(chan struct{}), make(chan struct{})
	e := newEnv(t, turns{say("ok")}, nil)
	runs := e.process(turns{func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		close(asked)
		select {
		case <-let:
		case <-t.Context().Done():
		}
		say("late")(ctx, req, yield)
	}})
	root := runs.open(session.Spec{})
	child, free := runs.open(session.Spec{Parent: root}), runs.open(session.Spec{Parent: root, Background: true, Detached: true})
	outcome := make(chan session.Outcome, 1)
	go func() { outcome <- child.Prompt(t.Context(), "go") }()
	<-asked
	if err := errors.Join(child.AwaitStored(t.Context()), free.AwaitStored(t.Context())); err != nil {
		t.Fatal(err)
	}
	stops := e.process(turns{say("ok")}).Store()
	stops.Recovery.StopGrace = time.Millisecond
	rec, err := stops.Recovery.Stop(t.Context(), root.ID(), "alice")
	if err != nil || rec.Status != record.Cancelled || !rec.Closed || !strings.Contains(rec.Error, "stopped by alice; its process did not end it in time") {
		t.Errorf("record %+v, %v", rec, err)
	}
	late, err := runs.Open(t.Context(), session.Spec{Agent: "agent", Parent: root}) // in most runs its process does not know of it yet
	if err == nil {
		if err := late.End(record.Completed, nil); !errors.Is(err, record.ErrEnded) || !strings.Contains(err.Error(), "interrupted") {
			t.Errorf("ending what has begun below it: %v", err)
		}
		for entry, err := range e.bus.Log(t.Context(), late.Path()) {
			t.Errorf("the log of what has begun below it has a %s, %v", entry.Kind, err)
		}
		session.Sweep(t.Context(), runs.Manager)
		if r, err := stops.Index.Get(t.Context(), late.ID()); !errors.Is(err, record.ErrNotFound) {
			t.Errorf("what has begun below it: %+v, %v", r, err)
		}
	} else if !errors.Is(err, record.ErrEnded) {
		t.Errorf("beginning another one below it: %v", err)
	}
	close(let)
	out := <-outcome
	for _, s := range []*session.Session{child, root} {
		if err := s.End(out.Status, out.Err); !errors.Is(err, record.ErrEnded) {
			t.Errorf("ending it once more: %v", err)
		}
		checkForced(t, e.bus, stops, s.Path())
	}
	if r := e.stored(free.ID()); r.Status.Ended() {
		t.Errorf("a detached one below it is %s", r.Status)
	}
	if err := free.End(record.Completed, nil); err != nil {
		t.Error(err)
	}
}

// checkForced checks that a session was stopped, and that its end is the last of its log.
func checkForced(t *testing.T, bus *eventbus.Bus, sessions *store.Store, path event.Path) {
	t.Helper()
	ends, last := 0, ""
	for entry, err := range bus.Log(t.Context(), path) {
		if err != nil {
			t.Fatal(err)
		}
		if last = entry.Kind; last == (event.SessionEnd{}).Type() {
			ends++
		}
	}
	if ends != 1 || last != (event.SessionEnd{}).Type() {
		t.Errorf("its log has %d ends, and the last entry is %s", ends, last)
	}
	if r, err := sessions.Index.Get(t.Context(), path[len(path)-1].SessionID); err != nil || r.Status != record.Cancelled || !r.Closed {
		t.Errorf("its record is %+v, %v", r, err)
	}
}

// TestStopForcedKilled: a process is killed while it ends the session of another one, when only its
// fence is stored.
func TestStopForcedKilled(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	runs := e.process(turns{say("ok"), say("again")})
	root := runs.open(session.Spec{})
	child := runs.open(session.Spec{Parent: root})
	if out := child.Prompt(t.Context(), "go"); out.Err != nil {
		t.Fatal(out.Err)
	}
	for _, s := range []*session.Session{root, child} {
		if err := e.bus.Fence(t.Context(), s.Path(), session.BootID(runs.Manager), "boot_stopping"); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*session.Session{child, root} {
		if err := s.End(record.Completed, nil); !errors.Is(err, record.ErrEnded) {
			t.Errorf("ending it: %v", err)
		}
	}
	session.Sweep(t.Context(), runs.Manager)
	for _, s := range []*session.Session{root, child} {
		if r := e.stored(s.ID()); r.Status != record.Interrupted || !r.Closed {
			t.Errorf("its record is %+v", r)
		}
	}
	var got []event.Event
	for d, err := range e.bus.Follow(t.Context(), root.Path(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		around, ev, err := d.Event()
		if err != nil {
			t.Fatal(err)
		}
		if len(around) == 0 {
			got = append(got, ev)
		}
	}
	if ends(got) != 1 || got[len(got)-1].Type() != (event.SessionEnd{}).Type() {
		t.Errorf("the events of the root are %v", got)
	}
}

// TestStopUnknown: what can't be stopped is told apart.
func TestStopUnknown(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	if _, err := e.Store().Recovery.Stop(t.Context(), "ses_none", "alice"); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("an unknown session: %v", err)
	}
	gone := e.process(turns{say("ok")})
	root := gone.open(session.Spec{})
	child := gone.open(session.Spec{Parent: root})
	other := gone.open(session.Spec{})
	e.expire(gone.Manager)
	rec, err := e.Store().Recovery.Stop(t.Context(), root.ID(), "alice")
	if err != nil || rec.Status != record.Cancelled || !rec.Closed || !strings.Contains(rec.Error, "stopped by alice; its process has exited") {
		t.Errorf("one whose process has died: %+v, %v, want it cancelled", rec, err)
	}
	if r := e.stored(child.ID()); r.Status != record.Cancelled {
		t.Errorf("its child: %+v", r)
	}
	if r := e.stored(other.ID()); r.Status.Ended() {
		t.Errorf("another one of that process: %+v", r)
	}
	// A process that has a lease, and answers nothing.
	e.putLease(session.BootID(gone.Manager), func(l *lease.Lease) { l.Ended = false })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Store().Recovery.Stop(ctx, other.ID(), "alice"); err == nil {
		t.Error("one whose process does not answer is stopped")
	}
}

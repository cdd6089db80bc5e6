package session_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/retention"
)

// left counts what the store holds of a workspace's sessions.
func (e *env) left() map[string]uint64 {
	e.t.Helper()
	if _, err := e.Store().Index.List(e.t.Context()); err != nil { // which has all records written
		e.t.Fatal(err)
	}
	left := make(map[string]uint64)
	for _, name := range []string{eventbus.Stream, "KV_AGENT_SESSIONS", "KV_AGENT_APPROVALS"} {
		stream, err := e.bus.JetStream().Stream(e.t.Context(), name)
		if err != nil {
			e.t.Fatal(err)
		}
		info, err := stream.Info(e.t.Context(), jetstream.WithSubjectFilter(">"))
		if err != nil {
			e.t.Fatal(err)
		}
		left[name] = info.State.Msgs - info.State.Subjects["$KV.AGENT_SESSIONS.ws.checkpoint.open"]
	}
	return left
}

// tree opens a root and a child of it, and ends both.
func (e *env) tree() (root, child *session.Session) {
	e.t.Helper()
	root = e.open(session.Spec{Agent: "primary"})
	child = e.open(session.Spec{Parent: root})
	for _, s := range []*session.Session{child, root} {
		e.end(s, s.Prompt(e.t.Context(), "go"))
	}
	return root, child
}

// TestDelete: a session goes with all below it and all that is stored of them,
// and nothing else does.
func TestDelete(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	e.tree()
	before := e.left()
	root, child := e.tree()
	if n, err := e.Store().Retention.Delete(t.Context(), root.ID()); n != 2 || err != nil {
		t.Fatalf("Delete: %d, %v, want 2 sessions", n, err)
	}
	for name, n := range e.left() {
		if n != before[name] {
			t.Errorf("%s holds %d messages, want %d as before", name, n, before[name])
		}
	}
	for _, s := range []*session.Session{root, child} {
		if _, err := e.Store().Index.Get(t.Context(), s.ID()); !errors.Is(err, record.ErrNotFound) {
			t.Errorf("Get of a deleted session: %v", err)
		}
		if n, err := e.Store().Retention.Delete(t.Context(), s.ID()); n != 0 || !errors.Is(err, record.ErrNotFound) {
			t.Errorf("a second Delete: %d, %v", n, err)
		}
	}
}

// TestDeleteRefusesRunning: nothing is deleted of a session that has not ended,
// nor of one above it.
func TestDeleteRefusesRunning(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	root := e.open(session.Spec{})
	child := e.open(session.Spec{Parent: root})
	e.end(root, session.Outcome{Status: record.Completed}) // before its child
	before := e.left()
	for _, s := range []*session.Session{root, child} {
		if n, err := e.Store().Retention.Delete(t.Context(), s.ID()); n != 0 || !errors.Is(err, retention.ErrRunning) {
			t.Errorf("Delete: %d, %v, want ErrRunning", n, err)
		}
	}
	for name, n := range e.left() {
		if n != before[name] {
			t.Errorf("%s holds %d messages, want %d", name, n, before[name])
		}
	}
}

// TestExpire: by age whole trees are deleted, counted from the end of their root. By size the
// first to end are deleted until the rest fits. Running sessions stay at any age.
func TestExpire(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	old, below := e.tree()
	running := e.open(session.Spec{})
	for _, s := range []*session.Session{below, old} {
		r := s.Record()
		r.EndedAt = r.EndedAt.Add(-48 * time.Hour)
		e.store(r)
	}
	e.tree()
	expire := func(keep retention.Limits, now time.Time) int {
		t.Helper()
		n, err := e.Store().Retention.Expire(t.Context(), keep, now)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	now := time.Now()
	for _, tt := range []struct {
		keep retention.Limits
		at   time.Time
		want int
	}{
		{retention.Limits{}, now.AddDate(10, 0, 0), 0},
		{retention.Limits{Age: 72 * time.Hour}, now, 0},
		{retention.Limits{Bytes: 1 << 40}, now, 0},
		{retention.Limits{Age: 24 * time.Hour}, now, 2},
		{retention.Limits{Age: 24 * time.Hour}, now, 0},
		{retention.Limits{Bytes: 1}, now, 2}, // what is left does not fit; none can go
		{retention.Limits{Age: time.Hour, Bytes: 1}, now.AddDate(10, 0, 0), 0},
	} {
		if got := expire(tt.keep, tt.at); got != tt.want {
			t.Errorf("Expire(%+v): %d sessions, want %d", tt.keep, got, tt.want)
		}
	}
	if _, err := e.Store().Index.Get(t.Context(), running.ID()); err != nil {
		t.Errorf("the running session: %v", err)
	}
}

// TestRetention: after a sweep, which does not wait for it, ended sessions are deleted as the options
// say.
func TestRetention(t *testing.T) {
	e := newEnvOn(t, eventbus.Options{StoreDir: t.TempDir()}, turns{say("ok")}, func(opts *session.Options) { opts.Retention.Bytes = 1 })
	root, child := e.tree()
	running := e.open(session.Spec{})
	if !session.Sweep(t.Context(), e.Manager) {
		t.Fatal("the sweep has not looked at all")
	}
	for _, s := range []*session.Session{child, root} {
		for {
			_, err := e.Store().Index.Get(t.Context(), s.ID())
			if errors.Is(err, record.ErrNotFound) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			runtime.Gosched()
		}
	}
	if _, err := e.Store().Index.Get(t.Context(), running.ID()); err != nil {
		t.Errorf("the running session: %v", err)
	}
}

// TestDeleteIsTakenUp: a deletion that was cut off is completed by the next.
func TestDeleteIsTakenUp(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	root, _ := e.tree()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Store().Retention.Delete(ctx, root.ID()); err == nil {
		t.Fatal("Delete without any time succeeded")
	}
	if err := e.bus.Purge(t.Context(), root.Path()); err != nil { // as far as it may have come
		t.Fatal(err)
	}
	if n, err := e.Store().Retention.Delete(t.Context(), root.ID()); n != 2 || err != nil {
		t.Fatalf("Delete: %d, %v", n, err)
	}
	for name, n := range e.left() {
		if n != 0 {
			t.Errorf("%s still holds %d messages", name, n)
		}
	}
}

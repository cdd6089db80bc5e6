//go:build unix

package session_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
)

// TestStoppedLeader: while the process that runs the store is stopped, a session waits with its end
// as long as somebody waits for it.
func TestStoppedLeader(t *testing.T) {
	t.Parallel()
	at := place{StoreDir: t.TempDir()}
	leader, waited := startTalker(t, at), startTalker(t, at)
	bus := at.open(t)
	defer bus.Close()
	manager, err := session.OpenManager(t.Context(), session.Options{Bus: bus, Static: &static{}})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	caller, leave := context.WithCancel(t.Context())
	left, err := manager.Open(caller, session.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	natstest.StopProcess(t, leader.cmd.Process, syscall.SIGSTOP)
	waited.stdin.Close() // its session ends meanwhile
	leave()
	err = left.End(record.Completed, nil)
	if hint := fmt.Sprintf("kill -CONT %d", leader.cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), hint) {
		t.Errorf("ending a session while the leader is stopped: %v, want %s in it", err, hint)
	}
	leader.signal(t, syscall.SIGCONT)
	if said, want := waited.end(t), "ended completed <nil> <nil>"; said != want {
		t.Errorf("a session that somebody waits for says %q, want %q", said, want)
	}
	if got := streamed(t, bus, left.Path()); got != "session_start status_change session_end" {
		t.Errorf("the session that was left has the events %s", got)
	}
	later, err := manager.Open(t.Context(), session.Spec{}) // what is acknowledged after it
	if err == nil {
		err = later.End(record.Completed, nil)
	}
	if err != nil || !session.Sweep(t.Context(), manager) {
		t.Error("the sweep has not looked at all", err)
	}
	if r, err := manager.Store().Index.Get(t.Context(), left.ID()); err != nil || r.Status != record.Completed || !r.Closed {
		t.Errorf("its record is %+v, %v", r, err)
	}
}

// TestStopStopped: another process ends a session whose own process is stopped by a signal.
func TestStopStopped(t *testing.T) {
	t.Parallel()
	at := place{URL: natstest.Start(t, server.Options{StoreDir: t.TempDir()}).ClientURL()}
	p := startTalker(t, at)
	bus := at.open(t)
	defer bus.Close()
	sessions, err := store.Open(t.Context(), bus)
	if err != nil {
		t.Fatal(err)
	}
	natstest.StopProcess(t, p.cmd.Process, syscall.SIGSTOP)
	sessions.Recovery.StopGrace = time.Millisecond
	r, err := sessions.Recovery.Stop(t.Context(), p.id, "alice")
	if err != nil || !strings.Contains(r.Error, "stopped by alice; its process did not end it in time") {
		t.Fatalf("record %+v, %v", r, err)
	}
	p.signal(t, syscall.SIGCONT)
	p.await(t, "a session is stopped: another process has ended it")
	p.end(t)
	checkForced(t, bus, sessions, event.Path{{SessionID: p.id, AgentType: "talker"}})
}

// streamed follows a stream to its end, and returns the types of its events.
func streamed(t *testing.T, bus *eventbus.Bus, path event.Path) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var got []string
	for d, err := range bus.Follow(ctx, path, &eventbus.FollowOptions{Live: true}) { // the end may be to come
		if err != nil {
			t.Fatalf("the stream has no end: %v", err)
		}
		_, ev, err := d.Event()
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, ev.Type()); d.Ends() {
			break
		}
	}
	return strings.Join(got, " ")
}

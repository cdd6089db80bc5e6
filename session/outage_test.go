package session_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
)

// TestServerRestarts: while a session streams, the external server goes, and
// comes back with what it has stored. The session waits and completes; its stream
// has every event once, in order, for who follows all the while too.
func TestServerRestarts(t *testing.T) {
	t.Parallel() // it waits, most of its time
	const deltas, at = 400, 150
	dir := t.TempDir()
	srv := natstest.Start(t, server.Options{StoreDir: dir})
	port := srv.Addr().(*net.TCPAddr).Port
	middle, gone := make(chan struct{}), make(chan struct{})
	m := turns{func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		for i := range deltas {
			if i == at {
				close(middle)
				<-gone
			}
			if !yield(model.TextDelta{Text: fmt.Sprintf("%d ", i)}, nil) {
				return
			}
		}
		yield(model.Stop{Reason: model.StopEnd}, nil)
	}}
	e := newEnvOn(t, eventbus.Options{URL: srv.ClientURL()}, m, nil)
	s := e.open(session.Spec{Agent: "talker"})
	followed := make(chan string)
	go func() {
		var text strings.Builder
		for d, err := range e.bus.Follow(t.Context(), s.Path(), &eventbus.FollowOptions{Live: true}) {
			if err != nil {
				t.Error(err)
				break
			}
			if ev, err := event.Decode(d.Raw); err != nil {
				t.Error(err)
			} else if delta, ok := ev.(event.ContentDelta); ok {
				text.WriteString(delta.Delta)
			}
			if d.Ends() {
				break
			}
		}
		followed <- text.String()
	}()
	var restarting sync.WaitGroup
	restarting.Go(func() {
		<-middle
		natstest.Stop(srv)
		close(gone) // it publishes into the void
		natstest.Start(t, server.Options{StoreDir: dir, Port: port})
	})
	out := s.Prompt(t.Context(), "go")
	restarting.Wait()
	e.end(s, out)
	if out.Status != record.Completed || len(strings.Fields(out.Text)) != deltas {
		t.Fatalf("%s with %d words, %v", out.Status, len(strings.Fields(out.Text)), out.Err)
	}
	if text := <-followed; strings.TrimSpace(text) != strings.TrimSpace(out.Text) {
		t.Errorf("the reader got %q", text)
	}
	if r := e.stored(s.ID()); r.Status != record.Completed || !r.Closed {
		t.Errorf("record %+v", r)
	}
}

// TestDiskFull: a session fails if the store has no room for its events. Once there is room, its
// process ends it, or another one if that process has died.
func TestDiskFull(t *testing.T) {
	for _, stays := range []bool{true, false} {
		t.Run(fmt.Sprint("its process stays: ", stays), func(t *testing.T) { testDiskFull(t, stays) })
	}
}

func testDiskFull(t *testing.T, stays bool) {
	m := turns{func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		for range 1000 {
			if !yield(model.TextDelta{Text: strings.Repeat("x", 4<<10)}, nil) {
				return
			}
		}
		say("done")(ctx, req, yield)
	}}
	e := newEnvOn(t, eventbus.Options{URL: natstest.Start(t, server.Options{StoreDir: t.TempDir(), JetStreamMaxStore: 1 << 20}).ClientURL()}, m, nil)
	small := e.open(session.Spec{})
	e.end(small, session.Outcome{Status: record.Completed})
	s := e.open(session.Spec{})
	out := s.Prompt(t.Context(), "go")
	if out.Status != record.Failed || out.Err == nil || !strings.Contains(out.Err.Error(), "resource") {
		t.Errorf("outcome %s, %v", out.Status, out.Err)
	}
	if err := s.End(out.Status, out.Err); err == nil {
		t.Error("the end of a session that could not be stored brought no error")
	}
	if e.stored(s.ID()).Closed { // there was room for so little
		if got := types(e.events(s)); !strings.HasSuffix(got, "=error error session_end") {
			t.Errorf("events %s", got)
		}
		return
	}
	// Room again.
	if err := e.bus.Purge(t.Context(), s.Path()); err != nil {
		t.Fatal(err)
	}
	if stays {
		if !session.Sweep(t.Context(), e.Manager) {
			t.Error("the sweep has not looked at all sessions")
		}
	} else { // its process has died and could not give its lease back
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Store().Recovery.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if r := e.stored(s.ID()); !r.Status.Ended() || !r.Closed {
		t.Errorf("record %+v", r)
	}
	if got := types(e.events(s)); strings.Count(got, "session_end") != 1 {
		t.Errorf("events %s", got)
	}
}

// TestDamagedStore: whatever file of the store was overwritten, the next process
// opens it, and misses nothing but what was in a damaged block.
func TestDamagedStore(t *testing.T) {
	var files []string
	first := t.TempDir()
	storeOne(t, first)
	err := filepath.WalkDir(first, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(path, "streams") {
			files = append(files, strings.TrimPrefix(path, first))
		}
		return err
	})
	if err != nil || len(files) < 10 {
		t.Fatalf("files of a store: %v, %v", files, err)
	}
	for _, name := range files {
		dir := t.TempDir()
		id := storeOne(t, dir)
		info, err := os.Stat(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("damage", int(info.Size())/6+1)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{StoreDir: dir})
		if err != nil {
			t.Fatalf("%s is damaged: %v", name, err)
		}
		sessions, err := store.Open(t.Context(), bus)
		if err != nil {
			t.Fatalf("%s is damaged: %v", name, err)
		}
		if _, err := sessions.Recovery.Recover(t.Context()); err != nil {
			t.Errorf("%s is damaged: Recover: %v", name, err)
		}
		blocks := func(stream string) bool {
			return strings.Contains(name, string(filepath.Separator)+stream+string(filepath.Separator)) && strings.HasSuffix(name, ".blk")
		}
		if _, err := sessions.Index.Get(t.Context(), id); err != nil && !blocks("KV_AGENT_SESSIONS") {
			t.Errorf("%s is damaged: the record: %v", name, err)
		}
		if messages, err := sessions.Transcripts.Messages(t.Context(), id); err != nil || len(messages) != 2 && !blocks(eventbus.Stream) {
			t.Errorf("%s is damaged: %d messages, %v", name, len(messages), err)
		}
		if err := bus.Close(); err != nil {
			t.Errorf("%s is damaged: %v", name, err)
		}
	}
}

// storeOne runs a session in a store of its own and returns its id.
func storeOne(t *testing.T, dir string) string {
	t.Helper()
	bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{StoreDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	m, err := session.OpenManager(t.Context(), session.Options{
		Bus: bus, Static: &static{rules: permission.MustRuleset(rule("*", "*", permission.Allow))},
		Model: func(string) (model.Model, error) { return turns{say("ok")}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Open(t.Context(), session.Spec{Agent: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	out := s.Prompt(t.Context(), "go")
	if err := errors.Join(s.End(out.Status, out.Err), m.Close(), bus.Close()); err != nil {
		t.Fatal(err)
	}
	return s.ID()
}

// TestClockSetBack: a session whose machine's clock was set back has no negative
// time, and is not archived before it is.
func TestClockSetBack(t *testing.T) {
	now := time.Now()
	r := &record.Record{Status: record.Completed, StartedAt: now, EndedAt: now.Add(-time.Hour)}
	if d := r.Duration(now); d != 0 {
		t.Errorf("it ran for %s", d)
	}
	r.EndedAt = now.Add(time.Hour)
	if r.Archived(time.Minute, now) {
		t.Error("a session that ends in an hour is archived")
	}
}

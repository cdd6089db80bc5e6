//go:build unix

package session_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
)

// talkerEnv is the environment variable with the store, as the JSON of a [place], in
// which a process is to run a session.
const talkerEnv = "AGENTWORKER_TEST_TALKER"

// place is where a store is.
type place struct{ URL, StoreDir string }

func (p place) open(t *testing.T) *eventbus.Bus {
	t.Helper()
	bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{URL: p.URL, StoreDir: p.StoreDir})
	if err != nil {
		t.Fatal(err)
	}
	return bus
}

// TestTalker is not a test: other processes run it. It runs a session that streams until
// its stdin ends. It writes the ids of the session and of the process, what it logs, and
// how the session has ended.
func TestTalker(t *testing.T) {
	text := os.Getenv(talkerEnv)
	if text == "" {
		return
	}
	var at place
	if err := json.Unmarshal([]byte(text), &at); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		bufio.NewScanner(os.Stdin).Scan()
	}()
	m := turns{func(ctx context.Context, _ *model.Request, yield func(model.Part, error) bool) {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for i := 0; yield(model.TextDelta{Text: fmt.Sprint(i, " ")}, nil); i++ {
			select {
			case <-tick.C:
			case <-over:
				yield(model.Stop{Reason: model.StopEnd}, nil)
				return
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
		}
	}}
	bus := at.open(t)
	manager, err := session.OpenManager(t.Context(), session.Options{
		Bus: bus, Static: &static{rules: permission.MustRuleset(rule("*", "*", permission.Allow))},
		Model:  func(string) (model.Model, error) { return m, nil },
		Limits: session.Limits{ModelCall: time.Hour},
		Logger: slog.New(slog.NewTextHandler(os.Stdout, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := manager.Open(t.Context(), session.Spec{Agent: "talker"})
	if err != nil {
		t.Fatal(err)
	}
	for range bus.Follow(t.Context(), s.Path(), &eventbus.FollowOptions{Live: true}) {
		break // it is stored that it has begun
	}
	if _, err := manager.Store().Index.Get(t.Context(), s.ID()); err != nil { // its record, too
		t.Fatal(err)
	}
	fmt.Println("begun", s.ID(), session.BootID(manager))
	out := s.Prompt(t.Context(), "go")
	fmt.Println("ended", out.Status, s.End(out.Status, out.Err), out.Err)
	<-over
	if err := manager.Close(); err != nil {
		t.Error(err)
	}
	if err := bus.Close(); err != nil {
		t.Error(err)
	}
}

// talker is a process that runs [TestTalker].
type talker struct {
	id, bootID string
	cmd        *exec.Cmd
	stdin      *os.File
	lines      *bufio.Scanner
}

func startTalker(t *testing.T, at place) *talker {
	t.Helper()
	text, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &talker{cmd: exec.Command(os.Args[0], "-test.run=^TestTalker$"), stdin: out}
	p.cmd.Env = append(os.Environ(), talkerEnv+"="+string(text))
	p.cmd.Stdin, p.cmd.Stderr = in, os.Stderr
	stdout, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		out.Close()
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.cmd.Wait()
	})
	p.lines = bufio.NewScanner(stdout)
	if _, err := fmt.Sscanf(p.await(t, "begun "), "begun %s %s", &p.id, &p.bootID); err != nil {
		t.Fatal(err)
	}
	return p
}

// startTalkers starts three.
func startTalkers(t *testing.T, at place) (all []*talker) {
	for range 3 {
		all = append(all, startTalker(t, at))
	}
	return all
}

// await returns the next line of p that has a text.
func (p *talker) await(t *testing.T, text string) string {
	t.Helper()
	limit := time.AfterFunc(2*time.Minute, func() { _ = p.cmd.Process.Kill() }) // its output ends with it
	defer limit.Stop()
	for p.lines.Scan() {
		if strings.Contains(p.lines.Text(), text) {
			return p.lines.Text()
		}
	}
	t.Fatalf("the process of session %s has not written %q", p.id, text)
	return ""
}

// seesAway returns when p has found that the store is away.
func (p *talker) seesAway(t *testing.T) {
	t.Helper()
	p.await(t, "the lease of this process could not be renewed")
}

func (p *talker) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// end has the session of p end, and returns what p says of that.
func (p *talker) end(t *testing.T) string {
	t.Helper()
	p.stdin.Close()
	return p.await(t, "ended ")
}

// allBack returns when every one of some processes has found the store again. None of
// them is to be taken for gone.
func allBack(t *testing.T, at place, talkers []*talker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	bus := at.open(t)
	defer bus.Close()
	kv, err := bus.JetStream().KeyValue(ctx, lease.BucketName)
	if err != nil {
		t.Fatal(err)
	}
	watch, err := kv.Watch(ctx, "ws.*", jetstream.UpdatesOnly())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = watch.Stop() }() // its consumer may have gone with a connection
	missing := make(map[string]bool)
	for _, p := range talkers {
		missing[p.bootID] = true
	}
	for len(missing) > 0 {
		select {
		case e := <-watch.Updates():
			if e == nil {
				continue
			}
			var l lease.Lease
			if err := json.Unmarshal(e.Value(), &l); err != nil {
				t.Fatal(err)
			}
			if missing[l.BootID] && (l.ClaimedBy != "" || l.Ended) {
				t.Errorf("a process that runs is taken for gone: %s", e.Value())
			}
			delete(missing, l.BootID)
		case <-ctx.Done():
			t.Fatalf("the processes %v have not renewed their leases", slices.Collect(maps.Keys(missing)))
		}
	}
}

// TestStoreAway: three processes run a session each while the store is away. One process is killed,
// and the others notice the outage. Their sessions end as usual. That of the killed process is
// interrupted once, and its end is its last event.
func TestStoreAway(t *testing.T) {
	t.Run("external", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		srv := natstest.Start(t, server.Options{StoreDir: dir})
		at := place{URL: srv.ClientURL()}
		talkers := startTalkers(t, at)
		port := srv.Addr().(*net.TCPAddr).Port
		natstest.Stop(srv)
		talkers[0].signal(t, syscall.SIGKILL)
		talkers[1].seesAway(t)
		talkers[2].seesAway(t)
		natstest.Start(t, server.Options{StoreDir: dir, Port: port})
		allBack(t, at, talkers[1:])
		checkTalkers(t, at, talkers)
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		at := place{StoreDir: t.TempDir()}
		talkers := startTalkers(t, at) // the first one leads
		natstest.StopProcess(t, talkers[0].cmd.Process, syscall.SIGSTOP)
		talkers[1].seesAway(t)
		talkers[2].seesAway(t)
		talkers[0].signal(t, syscall.SIGCONT)
		allBack(t, at, talkers)
		talkers[0].signal(t, syscall.SIGKILL)
		checkTalkers(t, at, talkers)
	})
}

// checkTalkers checks what became of the sessions of processes, of which the first was
// killed.
func checkTalkers(t *testing.T, at place, talkers []*talker) {
	bus := at.open(t)
	defer bus.Close()
	sessions, err := store.Open(t.Context(), bus)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range talkers {
		path := event.Path{{SessionID: p.id, AgentType: "talker"}}
		want := record.Completed
		if p == talkers[0] {
			want = record.Interrupted
		} else if said, want := p.end(t), "ended completed <nil> <nil>"; said != want {
			t.Errorf("a process that ran all the while says %q, want %q", said, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		ended := false
		for d, err := range bus.Follow(ctx, path, &eventbus.FollowOptions{Live: true}) { // the end may be to come
			if err != nil {
				t.Fatalf("session %s has no end: %v", p.id, err)
			}
			if ended = d.Ends(); ended {
				break
			}
		}
		cancel()
		ends, last := 0, false
		for d, err := range bus.Follow(t.Context(), path, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if last = d.Ends(); last {
				ends++
			}
		}
		if ends != 1 || !last {
			t.Errorf("session %s has %d ends, the last event is one: %v", p.id, ends, last)
		}
		if r, err := sessions.Index.Get(t.Context(), p.id); err != nil || r.Status != want {
			t.Errorf("session %s: %+v, %v, want %s", p.id, r, err, want)
		}
	}
}

//go:build unix

package session_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
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
// its stdin ends, writes the session's id and, once that is stored, its status.
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
	if _, err := manager.Store().Get(t.Context(), s.ID()); err != nil { // its record, too
		t.Fatal(err)
	}
	fmt.Println(s.ID())
	out := s.Prompt(t.Context(), "go")
	fmt.Println(out.Status, s.End(out.Status, out.Err), out.Err)
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
	id    string
	cmd   *exec.Cmd
	stdin *os.File
	lines *bufio.Scanner
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
	if !p.lines.Scan() {
		t.Fatal("the process does not begin")
	}
	p.id = p.lines.Text()
	return p
}

func (p *talker) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// end has the session of p end, and returns what p says of that.
func (p *talker) end() string {
	p.stdin.Close()
	p.lines.Scan()
	return p.lines.Text()
}

// lengthOf is how long a part of [TestStoreAway] takes: what the environment variable
// says, or d.
func lengthOf(t *testing.T, variable string, d time.Duration) time.Duration {
	if text := os.Getenv(variable); text != "" {
		var err error
		if d, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// TestStoreAway: while three processes run a session each, the store is away for longer
// than servers keep a silent batch, and one process is killed. The sessions of the other
// two go on to their end, for as long as these run; that of the killed one is
// interrupted, once, and its end is its last event.
func TestStoreAway(t *testing.T) {
	if testing.Short() {
		t.Skip("the store is away for seconds")
	}
	away := lengthOf(t, "WORKER_TEST_AWAY", 11*time.Second)
	watched := lengthOf(t, "WORKER_TEST_WATCHED", 6*time.Second) // what a process wrongly does once the store is back
	t.Run("external", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		srv := natstest.Start(t, server.Options{StoreDir: dir})
		at := place{URL: srv.ClientURL()}
		var talkers []*talker
		for range 3 {
			talkers = append(talkers, startTalker(t, at))
		}
		port := srv.Addr().(*net.TCPAddr).Port
		natstest.Stop(srv)
		talkers[0].signal(t, syscall.SIGKILL)
		time.Sleep(away)
		natstest.Start(t, server.Options{StoreDir: dir, Port: port})
		time.Sleep(watched)
		checkTalkers(t, at, talkers)
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		at := place{StoreDir: t.TempDir()}
		var talkers []*talker
		for range 3 { // the first one leads
			talkers = append(talkers, startTalker(t, at))
		}
		talkers[0].signal(t, syscall.SIGSTOP)
		time.Sleep(away)
		talkers[0].signal(t, syscall.SIGCONT)
		time.Sleep(watched)
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
		want := store.Completed
		if p == talkers[0] {
			want = store.Interrupted
		} else if said, want := p.end(), strconv.Quote("completed <nil> <nil>"); strconv.Quote(said) != want {
			t.Errorf("a process that ran all the while says %q, want %s", said, want)
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
		if r, err := sessions.Get(t.Context(), p.id); err != nil || r.Status != want {
			t.Errorf("session %s: %+v, %v, want %s", p.id, r, err, want)
		}
	}
}

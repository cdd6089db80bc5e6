package eventbus_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// The environment variables of a test binary that runs as a member: one of the
// processes that share a store.
const (
	memberDir     = "EVENTBUS_MEMBER_DIR"
	memberSession = "EVENTBUS_MEMBER_SESSION"
)

// killsVariable is the environment variable with the number of processes that
// TestKilledProcesses kills: 200 in its long form.
const killsVariable = "WORKER_TEST_KILLS"

// member publishes events of one session, and reads those of all, until stdin ends.
// It writes lines to stdout: "ready"; "stored N" once its first N events are stored;
// "wrong TEXT"; and at the end "done N" once all N are stored.
func member(dir string) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var out sync.Mutex
	say := func(format string, args ...any) {
		out.Lock()
		defer out.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	bus, err := eventbus.Open(ctx, "ws", &eventbus.Options{StoreDir: dir})
	if err != nil {
		say("wrong %v", err)
		return
	}
	root := event.Path{{SessionID: "r"}}
	p, err := bus.Publisher(root.Child(os.Getenv(memberSession), "explore"))
	if err != nil {
		say("wrong %v", err)
		return
	}
	say("ready")

	var stopping sync.WaitGroup
	stopping.Go(func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	})
	stopping.Go(func() {
		next := make(map[string]int)
		for d, err := range bus.Follow(ctx, root, &eventbus.FollowOptions{Live: true}) {
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				say("wrong following: %v", err)
				return
			}
			var env event.SubagentEvent
			ev, err := event.Decode(d.Raw)
			if err == nil {
				env = ev.(event.SubagentEvent)
				ev, err = event.Decode(env.Event)
			}
			if err != nil {
				say("wrong event %s: %v", d.Raw, err)
				return
			}
			if got := ev.(event.ContentDelta).Offset; got != next[env.SessionID] {
				say("wrong: a reader sees event %d of %s, want %d", got, env.SessionID, next[env.SessionID])
				return
			}
			next[env.SessionID]++
		}
	})
	n := 0
	for ; ctx.Err() == nil; n++ {
		if err := p.Publish(context.Background(), delta(n)); err != nil {
			say("wrong publishing: %v", err)
			return
		}
		if rand.IntN(20) == 0 {
			if err := p.Flush(context.Background()); err != nil {
				say("wrong flushing: %v", err)
				return
			}
			say("stored %d", n+1)
			<-time.After(time.Duration(rand.IntN(3)) * time.Millisecond) // the pace of its load; nothing waits for it
		}
	}
	if err := p.Flush(context.Background()); err != nil {
		say("wrong flushing: %v", err)
		return
	}
	stopping.Wait()
	if err := bus.Close(); err != nil {
		say("wrong closing: %v", err)
		return
	}
	say("done %d", n)
}

// running is a running member as the test sees it.
type running struct {
	cmd     *exec.Cmd
	in      io.Closer
	session string
	ready   chan struct{}
	done    chan struct{} // its output has ended

	mu     sync.Mutex
	stored int
	ended  bool // in order
	wrong  []string
	more   chan struct{} // closed with the next line
}

func startMember(t *testing.T, dir string, number int) *running {
	t.Helper()
	m := &running{
		cmd: exec.Command(os.Args[0]), session: fmt.Sprint("c", number),
		ready: make(chan struct{}), done: make(chan struct{}), more: make(chan struct{}),
	}
	m.cmd.Env = append(os.Environ(), memberDir+"="+dir, memberSession+"="+m.session)
	m.cmd.Stderr = os.Stderr
	in, err := m.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	m.in = in
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go m.read(out)
	return m
}

func (m *running) read(out io.Reader) {
	defer close(m.done)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		what, rest, _ := strings.Cut(lines.Text(), " ")
		m.mu.Lock()
		switch what {
		case "ready":
			close(m.ready)
		case "stored", "done":
			m.stored, _ = strconv.Atoi(rest)
			m.ended = what == "done"
		default:
			m.wrong = append(m.wrong, lines.Text())
		}
		close(m.more)
		m.more = make(chan struct{})
		m.mu.Unlock()
	}
}

// progress waits until more of m's events are stored.
func (m *running) progress(t *testing.T) {
	t.Helper()
	count := func() (int, <-chan struct{}) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if len(m.wrong) > 0 {
			t.Fatalf("%s: %v", m.session, m.wrong)
		}
		return m.stored, m.more
	}
	limit := time.After(time.Minute) // it gives up by itself before
	before, more := count()
	for now := before; now == before; now, more = count() {
		select {
		case <-more:
		case <-limit:
			t.Fatalf("%s no longer stores anything", m.session)
		}
	}
}

// finish waits for m's end. One that hangs says where.
func (m *running) finish(t *testing.T) {
	t.Helper()
	select {
	case <-m.done:
	case <-time.After(time.Minute):
		t.Errorf("%s (process %d) does not end: its goroutines are on stderr", m.session, m.cmd.Process.Pid)
		if err := m.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
			_ = m.cmd.Process.Kill()
		}
		<-m.done
	}
	if err := m.cmd.Wait(); err != nil {
		t.Errorf("%s: %v", m.session, err)
	}
}

func (m *running) kill(t *testing.T) {
	t.Helper()
	if err := m.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-m.done
	_ = m.cmd.Wait() // it was killed
}

// TestKilledProcesses kills processes that share a store, leaders and followers, at
// random points, also while another one joins. Every acknowledged event is stored,
// each event once and in order, and the others continue.
func TestKilledProcesses(t *testing.T) {
	kills := rounds(3, 6)
	if text := os.Getenv(killsVariable); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", killsVariable, err)
		}
	}
	dir := t.TempDir()
	var all, live []*running
	add := func() {
		m := startMember(t, dir, len(all))
		all, live = append(all, m), append(live, m)
	}
	t.Cleanup(func() {
		for _, m := range live {
			_ = m.cmd.Process.Kill()
			<-m.done
			_ = m.cmd.Wait()
		}
	})
	for range 3 { // at the same moment
		add()
	}
	var away time.Duration // the longest time without a store
	for range kills {
		for _, m := range live {
			select {
			case <-m.ready:
			case <-m.done:
				t.Fatalf("%s: %v", m.session, m.wrong)
			}
		}
		for range 1 + rand.IntN(3) { // it may be killed at any moment
			live[0].progress(t)
		}
		victim := rand.IntN(len(live))
		if rand.IntN(3) > 0 {
			victim = leaderOf(t, dir, live)
		}
		add() // it joins while the other is killed
		for range rand.IntN(3) {
			live[0].progress(t)
		}
		start := time.Now()
		live[victim].kill(t)
		live = append(live[:victim], live[victim+1:]...)
		live[0].progress(t)
		away = max(away, time.Since(start))
	}
	t.Logf("%d killed; the longest time until the next acknowledgement: %s", kills, away.Round(time.Millisecond))
	for _, m := range live {
		if err := m.in.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, m := range live {
		m.finish(t)
	}
	for _, m := range live {
		if !m.ended {
			t.Errorf("%s did not end in order", m.session)
		}
	}
	live = nil
	checkMembers(t, dir, all)
}

// checkMembers checks that all that members have had acknowledged is stored, once and in order.
func checkMembers(t *testing.T, dir string, all []*running) {
	t.Helper()
	bus := openBus(t, dir)
	deltas := published(t, t.Context(), bus.JetStream())
	for _, m := range all {
		if len(m.wrong) > 0 {
			t.Errorf("%s: %v", m.session, m.wrong)
		}
		got := deltas[m.session]
		for i, d := range got {
			if d.Offset != i {
				t.Errorf("%s: its event %d is number %d", m.session, i, d.Offset)
				break
			}
		}
		if len(got) < m.stored || m.ended && len(got) != m.stored {
			t.Errorf("%s: %d events are there, %d were acknowledged (ended in order: %v)", m.session, len(got), m.stored, m.ended)
		}
	}
}

// leaderOf returns the index of the member that leads.
func leaderOf(t *testing.T, dir string, live []*running) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "leader.pid"))
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range live {
		if strings.TrimSpace(string(data)) == strconv.Itoa(m.cmd.Process.Pid) {
			return i
		}
	}
	t.Fatalf("process %s leads, and is not a member", data)
	return 0
}

//go:build unix

package eventbus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/bustest"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
	"github.com/agentworker/worker/internal/tcpline"
)

// TestStoppedLeader: while the process that leads is stopped the others wait, for longer than
// for a store that is away, and lose nothing. An error of opening the store meanwhile names
// the process and the remedy.
func TestStoppedLeader(t *testing.T) {
	t.Parallel() // it waits, most of its time
	dir := t.TempDir()
	var members []*running
	for i := range 3 {
		m := startMember(t, dir, i)
		members = append(members, m)
		t.Cleanup(func() {
			_ = m.cmd.Process.Kill()
			<-m.done
			_ = m.cmd.Wait()
		})
		select {
		case <-m.ready:
		case <-m.done:
			t.Fatalf("%s: %v", m.session, m.wrong)
		}
	}
	for _, m := range members {
		m.progress(t)
	}
	leader := members[leaderOf(t, dir, members)]
	natstest.StopProcess(t, leader.cmd.Process, syscall.SIGSTOP)
	for range 3 { // each for 5 s
		bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{StoreDir: dir})
		if err == nil {
			bus.Close()
		}
		saysStopped(t, err, leader)
	}
	if err := leader.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		m.progress(t)
	}
	for _, m := range members {
		m.mu.Lock()
		if len(m.wrong) > 0 {
			t.Errorf("%s: %v", m.session, m.wrong)
		}
		m.mu.Unlock()
	}
}

// saysStopped checks that an error names a stopped process and the remedy.
func saysStopped(t *testing.T, err error, leader *running) {
	t.Helper()
	pid := leader.cmd.Process.Pid
	for _, part := range []string{fmt.Sprintf("process %d (eventbus.test", pid), "is stopped", "fg", fmt.Sprintf("kill -CONT %d", pid)} {
		if !errors.Is(err, eventbus.ErrNoLeader) || !strings.Contains(err.Error(), part) {
			t.Errorf("opening the store: %v, want %q in it", err, part)
		}
	}
}

// TestStoppedWhileOpening: opening the store fails in the same way if the leader accepts the
// connection, and is stopped before its first answer: for the event stream, or for what else
// is opened behind it. Once it goes on the store opens.
func TestStoppedWhileOpening(t *testing.T) {
	for name, request := range map[string]string{"stream": "." + eventbus.Stream, "bucket": ".KV_B"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for 5 s
			dir := t.TempDir()
			leader := startMember(t, dir, 0)
			t.Cleanup(func() { leader.kill(t) })
			select {
			case <-leader.ready:
			case <-leader.done:
				t.Fatal(leader.wrong)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			open := func() error {
				bus, err := eventbus.Open(ctx, "ws", &eventbus.Options{StoreDir: dir})
				if err != nil {
					return err
				}
				err = bus.Election().Opening(ctx, func(ctx context.Context) error {
					_, err := bus.Store().EnsureBucket(ctx, jetstream.KeyValueConfig{Bucket: "B"})
					return err
				})
				return errors.Join(err, bus.Close())
			}
			if err := open(); err != nil { // the leader listens from now on
				t.Fatal(err)
			}
			line := throughLine(t, dir)
			asked, stopped := make(chan struct{}), make(chan struct{})
			first, release := sync.OnceFunc(func() { close(asked) }), sync.OnceFunc(func() { close(stopped) })
			defer release()
			line.Watch(func(sent []byte) {
				if bytes.Contains(sent, []byte(request)) {
					first()
					<-stopped
				}
			})
			opened := make(chan error, 1)
			go func() { opened <- open() }()
			select {
			case <-asked:
			case err := <-opened:
				t.Fatalf("opening has not asked for %s: %v", request, err)
			}
			natstest.StopProcess(t, leader.cmd.Process, syscall.SIGSTOP)
			release()
			saysStopped(t, <-opened, leader)
			if err := leader.cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			if err := open(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSilentConnection: one connection to the leader is held up for long. The process switches
// to another connection. What was held up arrives later, and is not stored a second time.
func TestSilentConnection(t *testing.T) {
	t.Parallel() // it waits, most of its time
	dir := t.TempDir()
	leader := openBus(t, dir)
	if err := bustest.Open(t, &eventbus.Options{StoreDir: dir}).Close(); err != nil { // the leader listens from now on
		t.Fatal(err)
	}
	line := throughLine(t, dir)
	arrive := make(chan struct{})
	release := sync.OnceFunc(func() { close(arrive) })
	defer release()
	var held atomic.Bool
	line.Watch(func(sent []byte) {
		if bytes.Contains(sent, []byte(`"type":"content_delta"`)) && !held.Swap(true) {
			<-arrive
		}
	})
	bus := openBus(t, dir)
	path := event.Path{{SessionID: "r"}}
	p := publisher(t, bus, path)
	for i := range 3 {
		if err := p.Publish(t.Context(), delta(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !held.Load() {
		t.Error("nothing was held up")
	}
	release()
	if err := errors.Join(p.Publish(t.Context(), delta(3)), p.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := replay(t, leader, path, 0); len(got) != 4 {
		t.Errorf("%d events are stored, want 4: %v", len(got), got)
	}
}

// throughLine has who connects to the leader of dir from now on do so over a line.
func throughLine(t *testing.T, dir string) *tcpline.Line {
	t.Helper()
	path := filepath.Join(dir, "rendezvous", "address.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var at map[string]any
	if err := json.Unmarshal(data, &at); err != nil {
		t.Fatal(err)
	}
	line := newLine(t, strings.TrimPrefix(at["url"].(string), "nats://"))
	at["url"] = "nats://" + line.Addr()
	if data, err = json.Marshal(at); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return line
}

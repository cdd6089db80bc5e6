package main

import (
	"bufio"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/bustest"
	"github.com/agentworker/worker/eventbus/natstest"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
)

// killRounds is how often a worker is killed; $WORKER_TEST_KILLS asks for more.
func killRounds(t *testing.T) int {
	text := os.Getenv("WORKER_TEST_KILLS")
	if text == "" {
		return 5
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// killTasks runs tasks on a server and kills most of them somewhere. It returns the types of the
// events that they have shown, by sequence number.
func killTasks(t *testing.T, rounds int, dir, url string) map[uint64]string {
	t.Helper()
	path, err := exec.LookPath("worker")
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	shown := make(map[uint64]string)
	for range rounds {
		cmd := exec.Command(path, "task", "explore", "What is the launch code?", "--events", "--nats", url, "--workspace", "ws",
			"--dir", dir, "--state-dir", filepath.Join(dir, "state2"), "--model", "offline")
		cmd.Env = []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH")}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		left := random.IntN(50) // a task has somewhat more events
		for lines := bufio.NewScanner(out); lines.Scan(); left-- {
			var event struct {
				Seq  uint64
				Type string
			}
			if json.Unmarshal(lines.Bytes(), &event) == nil && event.Seq > 0 { // not cut off, and not the result
				shown[event.Seq] = event.Type
			}
			if left == 0 {
				time.AfterFunc(time.Duration(random.IntN(3000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
			}
		}
		_ = cmd.Wait() // killed, or done before
	}
	return shown
}

// TestKilledOnNATS kills workers on an external server at random points of their
// tasks, while another worker of the workspace runs. What a killed one has
// shown is stored, once and in order; its sessions are ended by the other.
func TestKilledOnNATS(t *testing.T) {
	t.Parallel()
	url := natsURL(t)
	other := serve(t, "--nats", url)
	other.line("as the service agentworker")
	rounds := killRounds(t)
	shown := killTasks(t, rounds, other.dir, url)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	bus, err := eventbus.Open(ctx, "ws", &eventbus.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	sessions, err := store.Open(ctx, bus)
	if err != nil {
		t.Fatal(err)
	}
	states := make(map[record.Status]int)
	// The other ends what is open, and lists what was killed before it was listed.
	_, ends := readAll(t, ctx, url)
	for open, listed := -1, 0; open != 0 || listed < len(ends); {
		records, err := sessions.Index.List(ctx)
		if err != nil {
			t.Fatalf("%d sessions are left open, %d of %d with an end are listed: %v", open, listed, len(ends), err)
		}
		open, listed = 0, len(records)
		clear(states)
		for _, r := range records {
			states[r.Status]++
			if !r.Closed {
				open++
			}
		}
	}
	stored, ends := readAll(t, ctx, url)
	for seq, what := range shown {
		if _, ok := stored[seq]; !ok {
			t.Errorf("event %d (%s) was shown, and is not stored", seq, what)
		}
	}
	for id, n := range ends {
		if n != 1 {
			t.Errorf("session %s has %d ends", id, n)
		}
	}
	if len(ends) != states[record.Completed]+states[record.Interrupted]+states[record.Failed] {
		t.Errorf("%d sessions have an end, of %v", len(ends), states)
	}
	t.Logf("%d rounds: %d events shown, %d stored, sessions %v", rounds, len(shown), len(stored), states)
}

// readAll returns all stored events by sequence number, and how many ends each
// session has. It checks that each publisher's events are there once, in order.
func readAll(t *testing.T, ctx context.Context, url string) (stored map[uint64]string, ends map[string]int) {
	t.Helper()
	js := natstest.JetStream(t, url)
	consumer, err := js.OrderedConsumer(ctx, eventbus.Stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{"agents.v1.ws.events.>"}})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		t.Fatal(err)
	}
	defer messages.Stop()
	stored, ends = make(map[uint64]string), make(map[string]int)
	last := make(map[string]int) // by publisher
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		stored[meta.Sequence.Stream] = msg.Subject()
		id := msg.Headers().Get(jetstream.MsgIDHeader)
		at := strings.LastIndexByte(id, '.')
		n, err := strconv.Atoi(id[at+1:])
		if err != nil || n != last[id[:at]]+1 {
			t.Errorf("event %s follows number %d of its publisher", id, last[id[:at]])
		}
		last[id[:at]] = n
		if kind, _ := bustest.Stored(&nats.Msg{Subject: msg.Subject(), Data: msg.Data()}); kind == "session_end" {
			tokens := strings.Split(msg.Subject(), ".")
			ends[tokens[len(tokens)-2]]++
		}
		if meta.NumPending == 0 {
			return stored, ends
		}
	}
}

package eventbus_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

// talker is a model that outputs a number at each tick until it is stopped.
type talker struct {
	begun chan struct{} // takes a value for each answer that has begun
	stop  chan struct{} // closed: conclude
}

func (*talker) Name() string { return "talker" }

func (m *talker) Stream(ctx context.Context, _ *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		m.begun <- struct{}{}
		for i := 0; ; i++ {
			if !yield(model.TextDelta{Text: strconv.Itoa(i) + " "}, nil) {
				return
			}
			select {
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			case <-m.stop:
				yield(model.Stop{Reason: model.StopEnd}, nil)
				return
			case <-tick.C:
			}
		}
	}
}

type allowAll struct{}

func (allowAll) Rules() (*permission.Ruleset, error) {
	return permission.NewRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow})
}
func (allowAll) Allow(string, []string) error { return nil }

// newTasks returns a task service on a bus for n concurrent children.
func newTasks(t *testing.T, bus *eventbus.Bus, m model.Model, n int) *taskt.Service {
	t.Helper()
	root := t.TempDir()
	agents, err := agentdefs.Open(t.Context(), root, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { agents.Close() })
	manager, err := session.OpenManager(t.Context(), session.Options{
		Bus: bus, Static: allowAll{}, Model: func(string) (model.Model, error) { return m, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := manager.Close(); err != nil {
			t.Error(err)
		}
	})
	tasks, err := taskt.New(taskt.Options{Sessions: manager, Agents: agents, Root: root, Limits: taskt.Limits{Running: n, PerParent: n}})
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

// TestClusterFailures: while 50 children stream into a cluster of three nodes, nodes
// are stopped and killed, leaders included. All tasks are completed, also beside another
// worker that could take theirs for gone, and their text is stored once and in order.
func TestClusterFailures(t *testing.T) {
	const children = 50
	c := newCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	bus := c.open(ctx)
	m := &talker{begun: make(chan struct{}, children), stop: make(chan struct{})}
	tasks := newTasks(t, bus, m, children)
	newTasks(t, c.open(ctx), m, 1) // looks for sessions whose process has exited
	root, err := tasks.OpenCaller(ctx, "cluster", record.Owner)
	if err != nil {
		t.Fatal(err)
	}
	results := make([]*taskt.Result, children)
	var running sync.WaitGroup
	for i := range results {
		running.Go(func() {
			results[i] = tasks.Call(ctx, root, taskt.Input{Description: fmt.Sprint(i), Prompt: "talk", AgentType: "explore"})
		})
	}
	for range children {
		select {
		case <-m.begun:
		case <-ctx.Done():
			t.Fatal("not all children have started")
		}
	}
	floods := make([]int, 4) // deltas of sessions that publish in bursts
	for i := range floods {
		text, burst := "x", 200
		if i%2 == 1 { // these deltas can't be joined
			text, burst = "xx", 50
		}
		running.Go(func() {
			floods[i] = flood(t, ctx, bus, event.Path{{SessionID: fmt.Sprintf("flood%d", i)}}, text, burst, 100*time.Millisecond, m.stop)
		})
	}
	conn, js := c.client()
	streams := []string{eventbus.Stream, "KV_AGENT_SESSIONS"}
	fail := func(what string, end func(*node), name string) {
		start := time.Now()
		n := c.named(name)
		end(n)
		c.start(n)
		c.healthy(ctx, js, streams...)
		t.Logf("%s %s: whole again after %s", what, name, time.Since(start).Round(time.Millisecond))
	}
	for range rounds(2, 5) { // a new leader while the old one is there: quick, with much on its way
		c.stepDown(ctx, conn)
		c.healthy(ctx, js, streams...)
	}
	fail("stopped the leader of the events", c.stop, c.healthy(ctx, js, streams...)[eventbus.Stream])
	fail("killed the leader of the events", c.kill, c.healthy(ctx, js, streams...)[eventbus.Stream])
	fail("killed the worker's own", c.kill, bus.Conn().ConnectedServerName())
	close(m.stop)
	stopped := time.Now()
	running.Wait()
	t.Logf("all tasks ended after %s", time.Since(stopped).Round(time.Millisecond))
	if err := root.End(record.Completed, nil); err != nil {
		t.Error(err)
	}
	said := checkTexts(t, ctx, bus, root.Path(), results)
	stored := published(t, ctx, js)
	checkFloods(t, stored, floods)
	if len(stored) != children+1+len(floods) || said == 0 {
		t.Errorf("%d sessions have events, want %d", len(stored), children+1+len(floods))
	}
	t.Logf("%d deltas of %d children, all read after %s", said, children, time.Since(stopped).Round(time.Millisecond))
}

// open opens a bus on the cluster.
func (c *cluster) open(ctx context.Context) *eventbus.Bus {
	c.t.Helper()
	bus, err := eventbus.Open(ctx, "ws", &eventbus.Options{URL: c.urls(), Replicas: 3})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := bus.Close(); err != nil {
			c.t.Error(err)
		}
	})
	return bus
}

// checkTexts checks the results of tasks below a session, and the streams of a few of them.
// It returns how many words they have.
func checkTexts(t *testing.T, ctx context.Context, bus *eventbus.Bus, root event.Path, results []*taskt.Result) (words int) {
	t.Helper()
	for i, r := range results {
		if r.Status != record.Completed {
			t.Errorf("task %d is %s: %v", i, r.Status, r.Err)
			continue
		}
		words += len(strings.Fields(r.Text))
		if i >= 5 {
			continue
		}
		if text := spoken(t, ctx, bus, root.Child(r.SessionID, "explore")); text != r.Text {
			t.Errorf("task %d: its stream says %q, its result %q", i, text, r.Text)
		}
	}
	return words
}

// checkFloods checks the stored deltas of sessions that have published so many in bursts.
func checkFloods(t *testing.T, stored map[string][]storedDelta, floods []int) {
	t.Helper()
	for i, want := range floods {
		id, next := fmt.Sprintf("flood%d", i), 0
		for _, d := range stored[id] {
			if d.Offset != next {
				t.Errorf("session %s: a delta at %d, want %d", id, d.Offset, next)
				break
			}
			next += max(len(d.Delta)-i%2, 1) // what is not joined is numbered
		}
		if next != want || want == 0 {
			t.Errorf("of %d deltas published in bursts %d are stored", want, next)
		}
		t.Logf("session %s: %d deltas were stored as %d", id, want, len(stored[id]))
	}
}

// flood publishes a burst of events from time to time until stop is closed, and returns how
// many events there were.
func flood(t *testing.T, ctx context.Context, bus *eventbus.Bus, path event.Path, text string, burst int, every time.Duration, stop <-chan struct{}) int {
	p, err := bus.Publisher(path)
	if err != nil {
		t.Error(err)
		return 0
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; ; {
		for range burst {
			if err := p.Publish(ctx, event.ContentDelta{MessageID: "m", Delta: text, Offset: n}); err != nil {
				t.Errorf("publishing event %d in a burst: %v", n+1, err)
				return 0
			}
			n++
		}
		select {
		case <-tick.C:
		case <-stop:
			if err := p.Flush(ctx); err != nil {
				t.Errorf("flushing bursts: %v", err)
			}
			return n
		}
	}
}

// storedDelta is the stored form of a delta.
type storedDelta struct {
	number int // among the messages of its session
	event.ContentDelta
}

// published returns the deltas of all stored sessions. It checks that of each session
// no message id is missing, if there are any, and that the stream itself has no hole.
func published(t *testing.T, ctx context.Context, js jetstream.JetStream) map[string][]storedDelta {
	t.Helper()
	consumer, err := js.OrderedConsumer(ctx, eventbus.Stream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		t.Fatal(err)
	}
	defer messages.Stop()
	deltas, last := make(map[string][]storedDelta), make(map[string]int)
	for seq := uint64(1); ; seq++ {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		if meta.Sequence.Stream != seq {
			t.Errorf("message %d follows %d in the stream", meta.Sequence.Stream, seq-1)
			seq = meta.Sequence.Stream
		}
		tokens := strings.Split(msg.Subject(), ".")
		session := tokens[len(tokens)-2]
		last[session]++
		if id := msg.Headers().Get(jetstream.MsgIDHeader); id != "" {
			n, err := strconv.Atoi(id[strings.LastIndexByte(id, '.')+1:])
			if err != nil || n != last[session] {
				t.Errorf("session %s: event %s is number %d, and number %d of the stream", session, id, last[session], seq)
				last[session] = n
			}
		}
		if deltas[session] == nil {
			deltas[session] = []storedDelta{}
		}
		if tokens[len(tokens)-1] == "turn" {
			if _, ev := open(t, msg.Data()); ev.Type() == (event.ContentDelta{}).Type() {
				deltas[session] = append(deltas[session], storedDelta{last[session], ev.(event.ContentDelta)})
			}
		}
		if meta.NumPending == 0 {
			return deltas
		}
	}
}

// spoken returns the text of a session's deltas, in the order of its stream.
func spoken(t *testing.T, ctx context.Context, bus *eventbus.Bus, path event.Path) string {
	t.Helper()
	var text strings.Builder
	for d, err := range bus.Follow(ctx, path, nil) {
		if err != nil {
			t.Fatal(err)
		}
		var delta struct {
			Type, Delta string
			Offset      int
		}
		if err := json.Unmarshal(d.Raw, &delta); err != nil {
			t.Fatal(err)
		}
		if delta.Type == "content_delta" {
			if delta.Offset != text.Len() {
				t.Errorf("a delta at %d, after %d bytes", delta.Offset, text.Len())
			}
			text.WriteString(delta.Delta)
		}
	}
	return text.String()
}

package taskt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt"
)

// manyFiles returns agent files named agent-0000 and so on.
func manyFiles(n int) map[string]string {
	files := make(map[string]string, n)
	for i := range n {
		files[fmt.Sprintf("agent-%04d.md", i)] = agentFile("maxSteps: 7")
	}
	return files
}

// BenchmarkSpec measures the task tool of 1,000 agents: made for a new
// snapshot, and as it is there afterwards.
func BenchmarkSpec(b *testing.B) {
	files := manyFiles(1000)
	snapshots := []*agentdefs.Snapshot{snapshot(b, files), snapshot(b, files)}
	turn := 0
	e := setup{model: answer("x"), agents: agentsFunc(func() *agentdefs.Snapshot { return snapshots[turn%2] })}.open(b)
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			turn++
			e.spec()
		}
	})
	b.Run("again", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e.spec()
		}
	})
}

// BenchmarkReloadToSchema measures the time from the write of one of 1,000
// files to the tool that has the agent's new name in its enum.
func BenchmarkReloadToSchema(b *testing.B) {
	e := newEnv(b, answer("x"), taskt.Limits{}, manyFiles(1000))
	changes, stop := iter.Pull(e.registry.Changes(b.Context()))
	defer stop()
	changes() // the one in force
	var times []time.Duration
	for i := 0; b.Loop(); i++ {
		name := fmt.Sprintf("renamed-%d", i)
		start := time.Now()
		e.write(b, "agent-0500.md", agentFile("name: "+name))
		for !strings.Contains(string(e.spec().InputSchema), `"`+name+`"`) {
			changes()
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2])/float64(time.Millisecond), "p50-ms")
}

// BenchmarkSpawn measures a task call from the caller's tool call to its result, with a model
// that answers at once. It includes two sessions' rows, the messages, and all events stored and
// acknowledged.
func BenchmarkSpawn(b *testing.B) {
	e := newEnv(b, answer("ok"), taskt.Limits{}, nil)
	for b.Loop() {
		if res := e.Call(b.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "explore"}); res.Err != nil {
			b.Fatal(res.Err)
		}
	}
}

// BenchmarkHanging measures the cost of a child that waits for its model: heap and stacks of
// the children of one turn, after a collection. It also has the times until all wait and until
// all have ended.
func BenchmarkHanging(b *testing.B) {
	for _, children := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(children), func(b *testing.B) {
			var cost, start, end []float64
			for b.Loop() {
				c, s, e := hanging(b, children)
				cost, start, end = append(cost, c), append(start, s.Seconds()*1e3), append(end, e.Seconds()*1e3)
			}
			b.ReportMetric(median(cost), "KiB/child")
			b.ReportMetric(median(start), "start-ms")
			b.ReportMetric(median(end), "end-ms")
		})
	}
}

// hanging has one turn call so many children. It returns the KiB of each while
// they wait, and how long they took to start and to end.
func hanging(b *testing.B, children int) (kib float64, start, end time.Duration) {
	var waiting sync.WaitGroup
	free := make(chan struct{})
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		switch text, n := prompt(req); {
		case text == "go" && n == 0:
			for i := range children {
				yield(model.ToolCall{ID: fmt.Sprint(i), Name: "task", Arguments: `{"description":"d","prompt":"p","agentType":"explore"}`})
			}
			yield(model.Stop{Reason: model.StopToolCalls})
			return nil
		case text == "p":
			waiting.Done()
			<-free
		}
		return answer("done")(ctx, req, yield)
	})
	e := newEnv(b, m, taskt.Limits{Running: children, PerParent: children}, nil)
	primary := &agentdefs.Definition{Name: "primary", Mode: agentdefs.Primary, MaxSteps: 5}
	root, err := e.OpenPrimary(b.Context(), primary, "bench")
	if err != nil {
		b.Fatal(err)
	}
	waiting.Add(children)
	before := inUse()
	begun := time.Now()
	outcome := make(chan session.Outcome, 1)
	go func() { outcome <- root.Prompt(b.Context(), "go") }()
	waiting.Wait()
	start = time.Since(begun)
	kib = float64(int64(inUse())-int64(before)) / 1024 / float64(children)
	begun = time.Now()
	close(free)
	out := <-outcome
	if err := errors.Join(out.Err, root.End(out.Status, out.Err)); err != nil {
		b.Fatal(err)
	}
	return kib, start, time.Since(begun)
}

// inUse returns the bytes of the heap and of the stacks after a collection.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// BenchmarkFirstEvent measures the time from a task call to the child's first
// event on the parent's stream, as a reader there gets it, against the bare
// steps on the same server: a request, a row in a bucket, an event, a consumer
// that gets it. Ours stores two rows and the call's own events before; their
// synchronous writes are the limit.
func BenchmarkFirstEvent(b *testing.B) {
	b.Run("task", func(b *testing.B) {
		e := newEnv(b, answer("ok"), taskt.Limits{}, nil)
		ctx, cancel := context.WithCancel(b.Context())
		first, ended := make(chan time.Time), make(chan struct{})
		go func() {
			defer close(ended)
			for d, err := range e.bus.Follow(ctx, e.root.Path(), &eventbus.FollowOptions{Live: true}) {
				if err != nil {
					return
				}
				if bytes.Contains(d.Raw, []byte(`"event":{"type":"session_start"`)) {
					first <- time.Now()
				}
			}
		}()
		firstEvents(b, first, func() {
			if res := e.Call(b.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "explore"}); res.Err != nil {
				b.Error(res.Err)
			}
		})
		cancel()
		<-ended
	})
	b.Run("bare", func(b *testing.B) {
		e := newEnv(b, nil, taskt.Limits{}, nil)
		js, err := jetstream.New(e.bus.Conn())
		if err != nil {
			b.Fatal(err)
		}
		rows, err := js.KeyValue(b.Context(), "AGENT_SESSIONS")
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		sub, err := e.bus.Conn().Subscribe("spawn", func(m *nats.Msg) {
			n++
			_, err := rows.Create(b.Context(), fmt.Sprint("bare.", n), []byte(`{"status":"queued"}`))
			if err == nil {
				_, err = js.PublishMsgAsync(&nats.Msg{Subject: "agents.v1.bare.events.root.x", Data: make([]byte, 300)})
			}
			if err := errors.Join(err, m.Respond(nil)); err != nil {
				b.Error(err)
			}
		})
		if err != nil {
			b.Fatal(err)
		}
		defer sub.Unsubscribe()
		consumer, err := js.OrderedConsumer(b.Context(), eventbus.Stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{"agents.v1.bare.events.root.>"}})
		if err != nil {
			b.Fatal(err)
		}
		messages, err := consumer.Messages()
		if err != nil {
			b.Fatal(err)
		}
		first, ended := make(chan time.Time), make(chan struct{})
		go func() {
			defer close(ended)
			for {
				if _, err := messages.Next(); err != nil {
					return
				}
				first <- time.Now()
			}
		}()
		firstEvents(b, first, func() {
			if _, err := e.bus.Conn().RequestWithContext(b.Context(), "spawn", nil); err != nil {
				b.Error(err)
			}
		})
		messages.Stop()
		<-ended
	})
}

// firstEvents reports the median of the time from a call to first.
func firstEvents(b *testing.B, first <-chan time.Time, call func()) {
	b.Helper()
	var times []time.Duration
	for b.Loop() {
		done := make(chan struct{})
		start := time.Now()
		go func() { defer close(done); call() }()
		times = append(times, (<-first).Sub(start))
		<-done
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/1e3, "p50-us")
}

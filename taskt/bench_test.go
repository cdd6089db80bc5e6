package taskt_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/agentdefs"
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
			e.Spec()
		}
	})
	b.Run("again", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e.Spec()
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
		for !strings.Contains(string(e.Spec().InputSchema), `"`+name+`"`) {
			changes()
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2])/float64(time.Millisecond), "p50-ms")
}

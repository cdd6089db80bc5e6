package agentdefs_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

// corpusWorkspace makes a workspace of count files, the corpus over and over.
func corpusWorkspace(b *testing.B, count int) (root string, size int64) {
	b.Helper()
	corpus := readCorpus(b)
	root = b.TempDir()
	files := map[string]string{}
	for i := range count {
		f := corpus[i%len(corpus)]
		data, err := os.ReadFile(filepath.Join("testdata/corpus", f.File))
		if err != nil {
			b.Fatal(err)
		}
		files[fmt.Sprintf(".claude/agents/%d/%d-%s", i%10, i, path.Base(f.File))] = strings.Replace(string(data), "name: ", fmt.Sprintf("name: a%d-", i), 1)
		size += int64(len(data))
	}
	agentdefstest.Write(b, root, files)
	return root, size
}

// BenchmarkLoad loads workspaces from nothing. Nearly all of it is the reading
// of YAML, on as many processors as there are.
func BenchmarkLoad(b *testing.B) {
	for _, count := range []int{100, 1000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			root, size := corpusWorkspace(b, count)
			b.SetBytes(size)
			for b.Loop() {
				s, err := agentdefs.Load(root, nil)
				if err != nil || len(s.Agents()) < count*9/10 {
					b.Fatalf("%d agents, %v", len(s.Agents()), err)
				}
			}
		})
	}
}

// BenchmarkScan looks at 1,000 files of which none has changed. What is left is
// one lstat for each, and sorting out names.
func BenchmarkScan(b *testing.B) {
	root, _ := corpusWorkspace(b, 1000)
	s, err := agentdefs.NewScanner(root, nil)
	if err != nil {
		b.Fatal(err)
	}
	for read := 1; read > 0; { // until the files are old enough to be trusted
		_, read, _ = s.Load()
	}
	for b.Loop() {
		if _, read, changed := s.Load(); read > 0 || changed {
			b.Fatalf("%d files were read, changed: %v; want none", read, changed)
		}
	}
}

// BenchmarkReload saves one of 1,000 files and waits for the snapshot. A
// millisecond of it is the wait for more events, and most of the rest is the
// scan. Every save is reported before the next one. A save within 50 ms of the
// last is debounced, so the benchmark lets that time pass.
func BenchmarkReload(b *testing.B) {
	root, _ := corpusWorkspace(b, 1000)
	r, err := agentdefs.Open(b.Context(), root, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	next, stop := iter.Pull(r.Changes(ctx))
	defer stop()
	if _, ok := next(); !ok {
		b.Fatal("no first snapshot")
	}
	file := filepath.Join(root, ".claude/agents/3/saved.md")
	apart := time.NewTicker(100 * time.Millisecond)
	defer apart.Stop()
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		<-apart.C
		b.StartTimer()
		start := time.Now()
		if err := os.WriteFile(file, []byte(agent(fmt.Sprint("Version ", i), "x")), 0o666); err != nil {
			b.Fatal(err)
		}
		c, ok := next()
		took = append(took, time.Since(start))
		if d, _ := c.Snapshot.Agent("saved"); !ok || d == nil || d.Description != fmt.Sprint("Version ", i) {
			b.Fatalf("round %d: %+v", i, d)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

package agentdefs_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

// TestChanges: a reader that has not read for long gets each snapshot; one that
// comes late begins with the newest.
func TestChanges(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, ".agents/agents/a.md")
	put(t, file, agent("0", "x"))
	l := openT(t, root, nil)
	if c := l.newest; c.Snapshot.Version != 1 || !slices.Equal(c.Added, []string{"a", "explore", "general"}) || len(c.Changed)+len(c.Removed) > 0 {
		t.Errorf("first change %+v, want version 1 with all agents added", c)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	slow, stop := iter.Pull(l.Changes(ctx))
	defer stop()
	if c, ok := slow(); !ok || c.Snapshot.Version != 1 { // it begins now
		t.Fatalf("slow reader begins with %+v, %v", c, ok)
	}
	const saves = 5
	for i := range saves {
		put(t, file, agent(fmt.Sprint(i+1), "x"))
		l.untilFresh("a save")
	}
	must(t, os.Remove(file))
	last := l.untilFresh("the removal").Version
	for version := uint64(2); version <= last; version++ {
		c, ok := slow()
		if !ok || c.Snapshot.Version != version {
			t.Fatalf("slow reader got %+v, %v; want version %d", c, ok, version)
		}
	}
	for c := range l.Changes(t.Context()) {
		if c.Snapshot != l.Snapshot() || !slices.Equal(c.Added, []string{"explore", "general"}) {
			t.Errorf("late reader begins with %+v, want the newest snapshot", c)
		}
		break
	}
	put(t, file, agent("back", "x"))
	l.untilFresh("a save")
	l.Registry.Close()
	if c, ok := slow(); !ok || !slices.Equal(c.Added, []string{"a"}) {
		t.Errorf("after Close: %+v, %v; want what came before it", c, ok)
	}
	if c, ok := slow(); ok {
		t.Errorf("after the last: %+v, want the end", c)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for c := range l.Changes(ended) {
		t.Errorf("with a context that has ended: %+v", c)
	}
}

// TestCloseAmongEvents closes while files are written and changes read.
func TestCloseAmongEvents(t *testing.T) {
	t.Parallel()
	rounds := 4
	if os.Getenv("WORKER_TEST_LONG") != "" {
		rounds = 20
	}
	for range rounds {
		root := t.TempDir()
		put(t, filepath.Join(root, ".agents/agents/a.md"), agent("0", "x"))
		l := openT(t, root, nil)
		var wg sync.WaitGroup
		stop, seen := make(chan struct{}), make(chan struct{})
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					if os.WriteFile(filepath.Join(root, ".agents/agents/a.md"), []byte(agent(fmt.Sprint(i), "x")), 0o666) != nil {
						return
					}
				}
			}
		})
		wg.Go(func() {
			n := 0
			for range l.Changes(context.Background()) {
				if n++; n == 2 {
					close(seen)
				}
			}
		})
		<-seen
		var closers sync.WaitGroup
		for range 2 {
			closers.Go(l.Registry.Close)
		}
		closers.Wait()
		close(stop)
		wg.Wait()
	}
}

// TestReadersSeeWholeSnapshots: several writers rewrite files without end, and
// readers check what must hold of every snapshot. A definition may be stale: a
// writer that has cut its file may get no processor for longer than that is
// waited for.
func TestReadersSeeWholeSnapshots(t *testing.T) {
	root := t.TempDir()
	file := func(i int) string { return filepath.Join(root, fmt.Sprintf(".claude/agents/%d/a%d.md", i%3, i)) }
	const count, rounds = 12, 60
	text := func(i, round int) string {
		return fmt.Sprintf("---\ndescription: %d\naliases: [alias%d]\npermission:\n  \"*\": allow\n  shell_exec: deny\n---\n%d %s", round, i, round, strings.Repeat("x", round*10))
	}
	for i := range count {
		put(t, file(i), text(i, 0))
	}
	l := openT(t, root, nil)
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			var version uint64
			for {
				select {
				case <-stop:
					return
				default:
				}
				s := l.Snapshot()
				if s.Version < version {
					t.Errorf("snapshot %d after %d", s.Version, version)
				}
				version = s.Version
				for _, d := range s.Agents() {
					if got, ok := s.Agent(d.Name); !ok || got != d {
						t.Errorf("snapshot %d: %s is listed and cannot be found", version, d.Name)
					}
					if !d.BuiltIn && (!d.Permission.DeniesAll("shell_exec") || d.Prompt != "" && !strings.HasPrefix(d.Prompt, d.Description[:min(len(d.Description), len(d.Prompt))])) {
						t.Errorf("snapshot %d: %+v with rules %q", version, d, agentdefstest.Rules(d))
					}
				}
				s.Fingerprint()
				s.Resolve("ALIAS3")
			}
		})
	}
	for w := range 3 {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 1))
			for round := range rounds {
				i := w + 3*random.IntN(count/3)
				name := file(i)
				if round%2 == 0 {
					if err := os.WriteFile(name, []byte(text(i, round)), 0o666); err != nil {
						t.Error(err)
					}
					continue
				}
				if err := os.WriteFile(name+".tmp", []byte(text(i, round)), 0o666); err != nil {
					t.Error(err)
				}
				if err := os.Rename(name+".tmp", name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	l.untilFresh("all writes")
	close(stop)
	readers.Wait()
}

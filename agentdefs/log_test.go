package agentdefs_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/agentdefs"
)

// lines is what a logger writes.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- strings.TrimSpace(string(line))
	return len(line), nil
}

// TestLog: a registry tells its logger of broken files, where and what to do,
// once for each change, and of nothing else.
func TestLog(t *testing.T) {
	const broken = "---\ndescription: x\npermission: {shell_exec: never}\n---\nx"
	root := t.TempDir()
	file := func(name string) string { return filepath.Join(root, ".agents/agents", name+".md") }
	put(t, file("a"), broken)
	put(t, file("odd"), "---\ndescription: x\ntemprature: 1\n---\nx")
	log := make(lines, 100)
	opts := &agentdefs.Options{Logger: slog.New(slog.NewTextHandler(log, nil))}
	l := openT(t, root, opts)
	expect := func(after string, want ...string) {
		t.Helper()
		for _, w := range want {
			select {
			case got := <-log:
				if !strings.Contains(got, w) {
					t.Errorf("after %s the log has %s, want %q", after, got, w)
				}
			case <-time.After(patience):
				t.Fatalf("after %s the log has nothing, want %q", after, w)
			}
		}
		if len(log) > 0 {
			t.Errorf("after %s the log has %s, want nothing more", after, <-log)
		}
	}
	mark := func(what string) { // all before it has been read, and logged
		put(t, file("mark")+".new", agent(what, "x"))
		must(t, os.Rename(file("mark")+".new", file("mark"))) // it is never read in part
		l.until(what+" is read", func(s *agentdefs.Snapshot) bool { d, _ := s.Agent("mark"); return d != nil && d.Description == what })
	}
	expect("the start", "level=INFO msg=\"agent file\" finding=\".agents/agents/a.md:3:26: error: ")
	mark("one")
	expect("a change of another file")
	put(t, file("a"), broken+"y")
	mark("two")
	expect("a change that corrects nothing", "level=ERROR msg=\"agent file\" finding=\".agents/agents/a.md:3:26: error: ")
	put(t, file("a"), agent("A", "a"))
	mark("three")
	expect("the correction", ".agents/agents/a.md: it is served again")
	put(t, file("a"), broken)
	l.until("it is stale", func(s *agentdefs.Snapshot) bool { d, _ := s.Agent("a"); return d != nil && d.Stale })
	mark("four")
	expect("it breaking", ".agents/agents/a.md:3:26: error: ")
	must(t, os.Remove(file("a")))
	mark("five")
	expect("its removal")
}

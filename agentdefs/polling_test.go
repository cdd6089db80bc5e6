package agentdefs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

func polling(s *agentdefs.Snapshot) (found []agentdefs.Diagnostic) {
	for _, d := range s.Diagnostics() {
		if d.Code == "watch-polling" {
			found = append(found, d)
		}
	}
	return found
}

// TestPolling: where the system does not tell of changes they are looked for,
// and this is said.
func TestPolling(t *testing.T) {
	for _, tt := range []struct {
		name      string
		platform  agentdefs.Platform
		file, why string
	}{
		{
			"no watcher",
			agentdefs.Platform{NewWatcher: func() (*fsnotify.Watcher, error) { return nil, os.NewSyscallError("inotify_init1", syscall.EMFILE) }},
			".agents/agents", "too many open files",
		},
		{
			"too many watches",
			agentdefs.Platform{Add: func(w *fsnotify.Watcher, dir string) error {
				if strings.HasSuffix(dir, "agents") {
					return syscall.ENOSPC
				}
				return w.Add(dir)
			}},
			".agents", "no space left on device",
		},
		{
			"network",
			agentdefs.Platform{Network: func(string) string { return "NFS" }, Add: func(*fsnotify.Watcher, string) error { return nil }},
			".", "NFS",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			put(t, filepath.Join(root, ".agents/agents/a.md"), agent("A", "a"))
			l := openT(t, root, (&agentdefs.Options{PollEvery: time.Millisecond}).On(tt.platform))
			found := polling(l.newest.Snapshot)
			if len(found) != 1 || found[0].File != tt.file || !strings.Contains(found[0].Message, tt.why) || found[0].Fix == "" {
				t.Fatalf("diagnostics %v, want one watch-polling of %s because of %q", l.newest.Snapshot.Diagnostics(), tt.file, tt.why)
			}
			put(t, filepath.Join(root, ".agents/agents/b.md"), agent("B", "b"))
			l.untilFresh("a new file")
			put(t, filepath.Join(root, ".agents/agents/b.md"), agent("C", "b"))
			l.untilFresh("a save of the same size")
			must(t, os.Rename(filepath.Join(root, ".agents"), filepath.Join(root, ".claude")))
			l.untilFresh("another folder")
		})
	}
}

// TestPollingEnds: watching is tried again, and the diagnostic goes when it
// works.
func TestPollingEnds(t *testing.T) {
	root := t.TempDir()
	put(t, filepath.Join(root, ".agents/agents/a.md"), agent("A", "a"))
	var tries atomic.Int32
	l := openT(t, root, (&agentdefs.Options{PollEvery: time.Millisecond}).On(agentdefs.Platform{NewWatcher: func() (*fsnotify.Watcher, error) {
		if tries.Add(1) < 4 {
			return nil, syscall.EMFILE
		}
		return fsnotify.NewWatcher()
	}}))
	l.until("it is watched", func(s *agentdefs.Snapshot) bool { return len(polling(s)) == 0 })
	if n := tries.Load(); n != 4 {
		t.Errorf("%d watchers were made, want 4", n)
	}
	put(t, filepath.Join(root, ".agents/agents/a.md"), agent("B", "b"))
	l.untilFresh("a save")
}

// TestFoldersThatCannotBeWatched: one above the workspace, or one that may not
// be read, is no reason to look for changes.
func TestFoldersThatCannotBeWatched(t *testing.T) {
	root := t.TempDir()
	put(t, filepath.Join(root, ".agents/agents/a.md"), agent("A", "a"))
	l := openT(t, root, new(agentdefs.Options).On(agentdefs.Platform{
		Add: func(w *fsnotify.Watcher, dir string) error {
			switch {
			case !strings.HasPrefix(dir, root):
				return syscall.ENOSPC
			case dir == root:
				return syscall.EACCES
			}
			return w.Add(dir)
		},
	}))
	if found := polling(l.newest.Snapshot); len(found) > 0 {
		t.Errorf("diagnostics %v, want none", found)
	}
	put(t, filepath.Join(root, ".agents/agents/a.md"), agent("B", "b"))
	l.untilFresh("a save")
}

// TestLostEvents: when the watcher says that events were lost, all is read again.
func TestLostEvents(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, ".agents/agents/a.md")
	put(t, file, agent("A", "a"))
	watchers := make(chan *fsnotify.Watcher, 1)
	l := openT(t, root, new(agentdefs.Options).On(agentdefs.Platform{NewWatcher: func() (*fsnotify.Watcher, error) {
		w, err := fsnotify.NewWatcher()
		w.Events = nil // all are lost
		watchers <- w
		return w, err
	}}))
	info, err := os.Stat(file)
	must(t, err)
	put(t, file, agent("B", "a"))
	must(t, os.Chtimes(file, info.ModTime(), info.ModTime()))
	(<-watchers).Errors <- fsnotify.ErrEventOverflow
	s := l.untilFresh("a save that was not told of")
	if d, _ := s.Agent("a"); d.Description != "B" {
		t.Errorf("description %q, want B", d.Description)
	}
	if got := agentdefstest.Names(s.Agents()); !slices.Equal(got, []string{"a", "explore", "general"}) {
		t.Errorf("agents %v", got)
	}
}

// TestErrorWhileAdding: the watcher may report an error, with its lock held,
// while folders are added to it; nobody must wait for the other.
func TestErrorWhileAdding(t *testing.T) {
	root := t.TempDir()
	put(t, filepath.Join(root, ".agents/agents/a.md"), agent("A", "a"))
	l := openT(t, root, new(agentdefs.Options).On(agentdefs.Platform{Add: func(w *fsnotify.Watcher, dir string) error {
		for range 3 {
			select {
			case w.Errors <- syscall.EINVAL:
			case <-time.After(patience):
				t.Error("nobody takes the error")
			}
		}
		return w.Add(dir)
	}}))
	put(t, filepath.Join(root, ".agents/agents/a.md"), agent("B", "a"))
	l.untilFresh("a save")
}

// TestWhatDoesNotMatter: events of files that can't be agents cost no look at
// the folders. Each look tries anew to watch the one that can't be.
func TestWhatDoesNotMatter(t *testing.T) {
	root := t.TempDir()
	sub := filepath.Join(root, ".claude/agents/sub")
	put(t, filepath.Join(sub, "a.md"), agent("A", "a"))
	var looks atomic.Int32
	l := openT(t, root, new(agentdefs.Options).On(agentdefs.Platform{Add: func(w *fsnotify.Watcher, dir string) error {
		if dir == sub {
			looks.Add(1)
			return syscall.EACCES
		}
		return w.Add(dir)
	}}))
	for _, name := range []string{"main.go", ".claude/settings.json", ".claude/agents/notes.txt", ".claude/agents/.a.md.swp", ".claude/agents/4913", "x/y.md", "README.md"} {
		for range 20 {
			put(t, filepath.Join(root, name), "x")
			must(t, os.Remove(filepath.Join(root, name)))
		}
	}
	if err := os.WriteFile(filepath.Join(root, ".claude/agents/b.md~"), []byte(agent("B", "b")), 0o666); err != nil {
		t.Fatal(err)
	}
	must(t, os.Rename(filepath.Join(root, ".claude/agents/b.md~"), filepath.Join(root, ".claude/agents/b.md")))
	l.untilFresh("b coming")
	if n := looks.Load(); n != 2 {
		t.Errorf("%d looks, want 2: when it was opened, and for b.md", n)
	}
}

package agentdefs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/agentworker/worker/agentdefs"
)

// TestRescan: what no event tells of is seen all the same.
func TestRescan(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, root, file string){
		"a hard link elsewhere": func(t *testing.T, root, file string) {
			other := filepath.Join(t.TempDir(), "a.md")
			must(t, os.Link(file, other))
			put(t, other, agent("B", "a"))
		},
		"a mapping of memory": func(t *testing.T, root, file string) {
			f, err := os.OpenFile(file, os.O_RDWR, 0)
			must(t, err)
			defer f.Close()
			text, err := syscall.Mmap(int(f.Fd()), 0, len(agent("A", "a")), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
			must(t, err)
			copy(text, agent("B", "a"))
			must(t, syscall.Munmap(text))
		},
		"times set back": func(t *testing.T, root, file string) {
			info, err := os.Stat(file)
			must(t, err)
			other := filepath.Join(t.TempDir(), "a.md")
			must(t, os.Link(file, other))
			put(t, other, agent("B", "a"))
			must(t, os.Chtimes(other, info.ModTime(), info.ModTime()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			file := filepath.Join(root, ".agents/agents/a.md")
			put(t, file, agent("A", "a"))
			l := openT(t, root, &agentdefs.Options{RescanEvery: time.Millisecond})
			change(t, root, file)
			l.until("it is seen", func(s *agentdefs.Snapshot) bool { d, _ := s.Agent("a"); return d != nil && d.Description == "B" })
		})
	}
}

// TestRescanOfFolders: another folder is where one was, and nothing tells of it,
// as when a file system is mounted there.
func TestRescanOfFolders(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, ".agents/agents")
	put(t, filepath.Join(dir, "a.md"), agent("A", "a"))
	put(t, filepath.Join(root, "other/b.md"), agent("B", "b"))
	l := openT(t, root, (&agentdefs.Options{RescanEvery: time.Millisecond}).On(agentdefs.Platform{NewWatcher: func() (*fsnotify.Watcher, error) {
		w, err := fsnotify.NewWatcher()
		w.Events = nil // none comes
		return w, err
	}}))
	must(t, os.Rename(dir, filepath.Join(root, "old")))
	must(t, os.Rename(filepath.Join(root, "other"), dir))
	l.untilFresh("another folder being there")
	put(t, filepath.Join(root, "more/c.md"), agent("C", "c"))
	must(t, os.Symlink("../../more", filepath.Join(root, ".agents/linked")))
	must(t, os.Rename(dir, filepath.Join(root, "older")))
	must(t, os.Symlink("../more", dir))
	l.untilFresh("a link being there")
}

// BenchmarkRescan reads 1,000 files of which none has changed, as a registry
// does every 30 s.
func BenchmarkRescan(b *testing.B) {
	for _, count := range []int{20, 1000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			root, _ := corpusWorkspace(b, count)
			s, err := agentdefs.NewScanner(root, nil)
			if err != nil {
				b.Fatal(err)
			}
			s.Load()
			for b.Loop() {
				if changed := s.Rescan(); changed {
					b.Fatal("something has changed")
				}
			}
		})
	}
}

package agentdefs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

// hanging holds up calls of paths, as a file system without its server does.
type hanging struct {
	mu      sync.Mutex
	paths   map[string]bool
	release chan struct{}
	waiting atomic.Int32 // calls that have not returned
	most    atomic.Int32 // calls that were made
}

func hang(t *testing.T, paths ...string) *hanging {
	h := &hanging{paths: map[string]bool{}, release: make(chan struct{})}
	for _, p := range paths {
		h.paths[p] = true
	}
	t.Cleanup(h.end)
	return h
}

// end lets all calls return, held up or to come.
func (h *hanging) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.paths != nil {
		h.paths = nil
		close(h.release)
	}
}

func (h *hanging) at(path string) {
	h.mu.Lock()
	held := h.paths[path]
	h.mu.Unlock()
	if held {
		h.most.Add(1)
		h.waiting.Add(1)
		<-h.release
		h.waiting.Add(-1)
	}
}

func (h *hanging) platform() agentdefs.Platform {
	return agentdefs.Platform{
		Stat:       func(path string) (fs.FileInfo, error) { h.at("stat " + path); return os.Stat(path) },
		Lstat:      func(path string) (fs.FileInfo, error) { h.at("lstat " + path); return os.Lstat(path) },
		ReadDir:    func(path string) ([]fs.DirEntry, error) { h.at("readdir " + path); return os.ReadDir(path) },
		BeforeRead: func(path string) error { h.at("read " + path); return nil },
		Network:    func(dir string) string { h.at("statfs " + dir); return "" },
		Add:        func(w *fsnotify.Watcher, dir string) error { h.at("watch " + dir); return w.Add(dir) },
		CallTime:   500 * time.Millisecond,
	}
}

// TestHeldUp: a call that the file system holds up, of any kind, keeps nothing
// else from being read, is made once, and is no reason to wait when all ends.
func TestHeldUp(t *testing.T) {
	for _, tt := range []struct{ call, path, reported, agents string }{
		{"read", ".claude/agents/a.md", ".claude/agents/a.md", "b c explore general"},
		{"lstat", ".claude/agents/a.md", ".claude/agents/a.md", "b c explore general"},
		{"lstat", ".claude/agents/sub", ".claude/agents/sub", "a b"},
		{"readdir", ".claude/agents/sub", ".claude/agents/sub", "a b"},
		{"readdir", ".claude/agents", ".claude/agents", ""},
		{"lstat", ".claude", ".claude/agents", ""},
		{"lstat", ".agents", ".agents/agents", ""},
		{"statfs", ".claude/agents/sub", ".claude/agents/sub", "a b c explore general"},
		{"watch", ".claude/agents/sub", ".claude/agents/sub", "a b c explore general"},
	} {
		t.Run(tt.call+" "+tt.path, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			put(t, filepath.Join(root, ".claude/agents/a.md"), agent("A", "a"))
			put(t, filepath.Join(root, ".claude/agents/b.md"), agent("B", "b"))
			put(t, filepath.Join(root, ".claude/agents/sub/c.md"), agent("C", "c"))
			h := hang(t, tt.call+" "+filepath.Join(root, tt.path))
			opts := (&agentdefs.Options{PollEvery: time.Millisecond, RescanEvery: time.Millisecond}).On(h.platform())
			l := openT(t, root, opts)
			var reported []agentdefs.Diagnostic
			for _, d := range l.newest.Snapshot.Diagnostics() {
				if strings.Contains(d.Message, "has not answered") {
					reported = append(reported, d)
				}
			}
			if len(reported) != 1 || reported[0].File != tt.reported || !strings.Contains(reported[0].Fix, "mount") {
				t.Errorf("diagnostics %v, want one of %s and what to do", l.newest.Snapshot.Diagnostics(), tt.reported)
			}
			if got := strings.Join(agentdefstest.Names(l.newest.Snapshot.Agents()), " "); got != tt.agents {
				t.Errorf("agents %q, want %q", got, tt.agents)
			}
			if strings.Contains(tt.agents, "b") { // a change elsewhere is seen
				put(t, filepath.Join(root, ".claude/agents/b.md"), agent("B2", "b"))
				l.until("b has changed", func(s *agentdefs.Snapshot) bool { d, _ := s.Agent("b"); return d != nil && d.Description == "B2" })
			}
			if n := h.most.Load(); n != 1 {
				t.Errorf("%d calls were made of what hangs, want 1", n)
			}
			h.end()
			s := l.until("all is there", func(s *agentdefs.Snapshot) bool { return len(s.Agents()) == 5 && len(s.Diagnostics()) == 0 })
			if got := strings.Join(agentdefstest.Names(s.Agents()), " "); got != "a b c explore general" {
				t.Errorf("agents %q once it answers", got)
			}
		})
	}
}

// TestHeldUpLater: agents do not change when their files begin to hang under a
// registry.
func TestHeldUpLater(t *testing.T) {
	for _, call := range []string{"readdir .claude/agents", "lstat .claude", "lstat .", "readdir .claude/agents/sub", "lstat .claude/agents/sub", "watch .claude/agents/sub"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			put(t, filepath.Join(root, ".claude/agents/sub/general.md"), "---\ndescription: Mine.\npermission: {\"*\": deny}\n---\nx")
			kind, path, _ := strings.Cut(call, " ")
			h := hang(t)
			l := openT(t, root, (&agentdefs.Options{PollEvery: time.Millisecond, RescanEvery: time.Millisecond}).On(h.platform()))
			h.mu.Lock()
			h.paths[kind+" "+filepath.Join(root, path)] = true
			h.mu.Unlock()
			if kind == "watch" { // it is watched anew
				must(t, os.Rename(filepath.Join(root, path), filepath.Join(root, "x")))
				must(t, os.Rename(filepath.Join(root, "x"), filepath.Join(root, path)))
			}
			if kind != "watch" {
				s := l.until("it is stale", func(s *agentdefs.Snapshot) bool { d, _ := s.Agent("general"); return d != nil && d.Stale })
				if d, _ := s.Agent("general"); d.BuiltIn || d.Description != "Mine." {
					t.Errorf("general is %+v, want that of the file", d)
				}
			}
			l.Close() // waits for nothing that hangs
			h.end()
		})
	}
}

// TestHeldUpUnread: a folder that is not read holds up nothing either.
func TestHeldUpUnread(t *testing.T) {
	for _, call := range []string{"stat .gemini/agents", "readdir .gemini/agents", "readdir pkg", "stat pkg/.claude/agents", "lstat pkg/.git"} {
		for _, from := range [][]string{nil, {"all"}} {
			t.Run(call, func(t *testing.T) {
				t.Parallel()
				root := t.TempDir()
				put(t, filepath.Join(root, ".claude/agents/a.md"), agent("A", "a"))
				put(t, filepath.Join(root, ".gemini/agents/g.md"), agent("G", "g"))
				put(t, filepath.Join(root, "pkg/.claude/agents/p.md"), agent("P", "p"))
				kind, path, _ := strings.Cut(call, " ")
				h := hang(t, kind+" "+filepath.Join(root, path))
				l := openT(t, root, (&agentdefs.Options{From: from}).On(h.platform()))
				put(t, filepath.Join(root, ".claude/agents/a.md"), agent("B", "a"))
				l.until("the change is seen", func(s *agentdefs.Snapshot) bool { d, _ := s.Agent("a"); return d != nil && d.Description == "B" })
				if n := h.most.Load(); n > 1 {
					t.Errorf("%d calls were made of what hangs, want 1", n)
				}
			})
		}
	}
}

// TestHeldUpWhileClosing: closing does not wait for a call at all.
func TestHeldUpWhileClosing(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, ".agents/agents/a.md")
	put(t, file, agent("A", "a"))
	h := hang(t)
	p := h.platform()
	p.CallTime = time.Hour
	l := openT(t, root, (&agentdefs.Options{RescanEvery: time.Millisecond}).On(p))
	h.mu.Lock()
	h.paths["read "+file] = true
	h.mu.Unlock()
	for h.waiting.Load() == 0 {
		put(t, file, agent("B", "a"))
	}
	l.Close()
}

// TestManyHeldUp: however many files hang, few calls of them are made, and a
// scan ends.
func TestManyHeldUp(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	h := hang(t)
	for i := range 300 {
		file := filepath.Join(root, ".claude/agents", string(rune('a'+i%7)), strings.Repeat("x", i)[:i%50]+string(rune('a'+i/50))+".md")
		put(t, file, agent("A", "a"))
		h.paths["read "+file] = true
	}
	put(t, filepath.Join(root, ".claude/agents/z/fine.md"), agent("Fine", "a"))
	p := h.platform()
	p.CallTime = time.Second
	s, err := agentdefs.Load(root, new(agentdefs.Options).On(p))
	must(t, err)
	if _, ok := s.Agent("fine"); !ok {
		t.Errorf("agents %v, want fine, which does not hang", agentdefstest.Names(s.Agents()))
	}
	if n := h.most.Load(); n > 64 {
		t.Errorf("%d calls hang, want at most 64", n)
	}
}

// TestNoStoredText: what is not a regular file of a disk is refused at once, and a
// symlink to one doesn't keep the others.
func TestNoStoredText(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, ".agents/agents")
	put(t, filepath.Join(dir, "a.md"), agent("A", "a"))
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o666))
	for name, to := range map[string]string{
		"kmsg.md": "/proc/kmsg", "device.md": "/dev/tty", "zero.md": "/dev/zero", "version.md": "/proc/version", "environ.md": "/proc/self/environ", "linked-pipe.md": "pipe.md",
	} {
		must(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	l := openT(t, root, nil)
	var refused []string
	for _, d := range l.newest.Snapshot.Diagnostics() {
		if d.Code == "file-unreadable" && d.Fix != "" {
			refused = append(refused, filepath.Base(d.File))
		}
	}
	if want := []string{"device.md", "environ.md", "kmsg.md", "linked-pipe.md", "pipe.md", "version.md", "zero.md"}; !slices.Equal(refused, want) {
		t.Errorf("unreadable: %v, want %v; %v", refused, want, l.newest.Snapshot.Diagnostics())
	}
	put(t, filepath.Join(dir, "a.md"), agent("B", "a"))
	l.untilFresh("a save beside them")
}

// TestHeldUpLint: a folder that lint can't look into is reported, though walks pass
// over dot folders.
func TestHeldUpLint(t *testing.T) {
	root := t.TempDir()
	put(t, filepath.Join(root, ".agents/agents/a.md"), agent("A", "a"))
	h := hang(t, "stat "+filepath.Join(root, ".agents/agents"))
	found, files, err := agentdefs.Lint(t.Context(), []string{root}, (&agentdefs.Options{}).On(h.platform()))
	if err != nil || files != 0 {
		t.Fatalf("%d files, error %v; want none", files, err)
	}
	if len(found) != 1 || found[0].Code != "file-unreadable" || !strings.HasSuffix(found[0].File, "/.agents/agents") {
		t.Errorf("found %v, want that .agents/agents cannot be read", found)
	}
}

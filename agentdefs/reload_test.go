package agentdefs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

// TestReload makes one change after the other and waits for what a fresh load
// gives.
func TestReload(t *testing.T) {
	for _, tt := range reloadCases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			l := openT(t, root, nil)
			for _, s := range tt.steps {
				s.do(t, root)
				l.untilFresh(s.what)
			}
		})
	}
}

// step is one change of a workspace.
type step struct {
	what string
	do   func(t *testing.T, root string)
}

func writeStep(file, text string) step {
	return step{"writing " + file, func(t *testing.T, root string) { put(t, filepath.Join(root, file), text) }}
}

func removeStep(file string) step {
	return step{"removing " + file, func(t *testing.T, root string) { must(t, os.RemoveAll(filepath.Join(root, file))) }}
}

func renameStep(from, to string) step {
	return step{"renaming " + from + " to " + to, func(t *testing.T, root string) {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, to)), 0o777))
		must(t, os.Rename(filepath.Join(root, from), filepath.Join(root, to)))
	}}
}

func linkStep(to, at string) step {
	return step{"linking " + at + " to " + to, func(t *testing.T, root string) {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, at)), 0o777))
		must(t, os.Symlink(to, filepath.Join(root, at)))
	}}
}

func swapStep(to, at string) step {
	return step{"swapping the link " + at + " to " + to, func(t *testing.T, root string) {
		must(t, os.Symlink(to, filepath.Join(root, at)+"_new"))
		must(t, os.Rename(filepath.Join(root, at)+"_new", filepath.Join(root, at)))
	}}
}

func allStep(what string, steps ...step) step {
	return step{what, func(t *testing.T, root string) {
		for _, s := range steps {
			s.do(t, root)
		}
	}}
}

var a, b, c = agent("A", "a"), agent("B", "b"), agent("C", "c")

// reloadCases are changes of a workspace, step by step.
var reloadCases = []struct {
	name  string
	steps []step
}{
	{"subfolders that are not read are told of", []step{
		writeStep(".agents/agents/a.md", a), writeStep(".agents/agents/team/b.md", b), writeStep(".agents/agents/team/deep/c.md", c),
		removeStep(".agents/agents/team/b.md"), renameStep(".agents/agents/team", ".agents/agents/other"), removeStep(".agents/agents/other"),
	}},
	{"files", []step{
		writeStep(".agents/agents/a.md", a), writeStep(".agents/agents/b.md", b), writeStep(".agents/agents/a.md", c),
		renameStep(".agents/agents/a.md", ".agents/agents/c.md"), renameStep(".agents/agents/c.md", ".agents/agents/b.md"), removeStep(".agents/agents/b.md"),
	}},
	{"same size", []step{writeStep(".agents/agents/a.md", a), writeStep(".agents/agents/a.md", agent("B", "a")), writeStep(".agents/agents/a.md", agent("C", "a"))}},
	{"folders", []step{
		writeStep(".claude/agents/x/y/a.md", a), renameStep(".claude/agents/x", ".claude/agents/z"), writeStep(".claude/agents/z/y/a.md", b),
		renameStep(".claude/agents/z/y", "y"), renameStep("y", ".claude/agents/y"), writeStep(".claude/agents/y/c.md", c), removeStep(".claude/agents/y"), writeStep(".claude/agents/y/c.md", c),
	}},
	{"ours beside theirs", []step{
		writeStep(".claude/agents/a.md", a), writeStep(".agents/agents/b.md", b), writeStep(".claude/agents/a.md", c), renameStep(".agents", ".agents_"),
		writeStep(".claude/agents/a.md", a), renameStep(".agents_", ".agents"), writeStep(".agents/agents/b.md", a), removeStep(".agents/agents"), removeStep(".claude"),
	}},
	{"a file for a folder", []step{
		writeStep(".agents/agents", "a file"), writeStep(".claude/agents/a.md", a), removeStep(".agents/agents"), writeStep(".agents/agents/a.md", b), removeStep(".agents"), writeStep(".agents", "a file"),
	}},
	{"built-in", []step{writeStep(".agents/agents/general.md", a), writeStep(".agents/agents/general.md", "---\ndisable: true\n---\n"), removeStep(".agents/agents/general.md")}},
	{"duplicates", []step{
		writeStep(".agents/agents/a.md", a), writeStep(".agents/agents/b.md", "---\nname: a\ndescription: x\n---\nx"), removeStep(".agents/agents/a.md"), writeStep(".agents/agents/a.md", a),
	}},
	{"symlinked folder", []step{
		writeStep("v1/a.md", a), writeStep("v2/a.md", b), writeStep("v2/b.md", b), linkStep("../v1", ".agents/agents"), swapStep("../v2", ".agents/agents"),
		writeStep("v2/a.md", c), writeStep("v1/a.md", c), swapStep("../v1", ".agents/agents"), renameStep("v1", "v3"), renameStep("v3", "v1"), removeStep(".agents/agents"), linkStep("../v2", ".agents/agents"),
	}},
	{"symlinked file", []step{
		writeStep("shared/a.md", a), linkStep("../../shared/a.md", ".agents/agents/a.md"), writeStep("shared/a.md", b), renameStep("shared", "moved"), renameStep("moved", "shared"),
		removeStep("shared/a.md"), writeStep("shared/a.md", c), swapStep("../../shared/b.md", ".agents/agents/a.md"), writeStep("shared/b.md", b),
	}},
	{"link to link", []step{
		writeStep("real/a.md", a), linkStep("real", "one"), linkStep("one", "two"), linkStep("../two", ".claude/agents"), writeStep("real/a.md", b), writeStep("other/a.md", c), swapStep("other", "one"), writeStep("other/b.md", b), writeStep("real/a.md", c), swapStep("real", "one"),
	}},
	{"data folder", []step{ // as Kubernetes mounts configuration
		writeStep(".claude/agents/..1/a.md", a), linkStep("..1", ".claude/agents/..data"), linkStep("..data/a.md", ".claude/agents/a.md"),
		writeStep(".claude/agents/..2/a.md", b), swapStep("..2", ".claude/agents/..data"), removeStep(".claude/agents/..1"), writeStep(".claude/agents/..2/a.md", c),
	}},
	{"dangling and looping", []step{
		linkStep("../../gone/a.md", ".claude/agents/a.md"), writeStep("gone/a.md", a), removeStep("gone"), writeStep("gone/a.md", b), linkStep("x", ".claude/agents/x"), linkStep(".", ".claude/agents/self"),
		linkStep("y.md", ".claude/agents/y.md"), swapStep("a.md", ".claude/agents/y.md"), linkStep("../later", ".claude/agents/later"), writeStep(".claude/later/c.md", c), linkStep("../../..", ".claude/agents/up"),
	}},
	{"many at once", []step{
		allStep("a checkout", writeStep(".claude/agents/a.md", a), writeStep(".claude/agents/x/b.md", b), writeStep(".claude/agents/x/c.md", c)),
		allStep("another", removeStep(".claude/agents/x"), writeStep(".claude/agents/x/b.md", c), renameStep(".claude/agents/a.md", ".claude/agents/x/a.md")),
		allStep("all new", removeStep(".claude"), writeStep(".claude/agents/x/b.md", b)),
	}},
	{"no text", []step{writeStep(".agents/agents/a.md", a), writeStep(".agents/agents/a.md", "# prose"), writeStep(".agents/agents/a.md", b), writeStep(".agents/agents/a.md", "---\nname: a\n---\nx")}},
}

// TestWorkspaceMoves: the workspace, or a folder above it, goes and comes back.
func TestWorkspaceMoves(t *testing.T) {
	above := t.TempDir()
	root := filepath.Join(above, "x/work")
	put(t, filepath.Join(root, ".claude/agents/sub/a.md"), agent("A", "a"))
	l := openT(t, root, nil)
	for _, moved := range []string{"x/work", "x"} {
		at := filepath.Join(above, moved)
		must(t, os.Rename(at, at+"2"))
		l.until(moved+" is gone", func(s *agentdefs.Snapshot) bool {
			return slices.Equal(agentdefstest.Names(s.Agents()), []string{"explore", "general"})
		})
		put(t, filepath.Join(above, strings.Replace("x/work", moved, moved+"2", 1), ".claude/agents/sub/b.md"), agent("B", moved))
		must(t, os.Rename(at+"2", at))
		l.untilFresh(moved + " being back")
		put(t, filepath.Join(root, ".claude/agents/sub/a.md"), agent("A", moved))
		l.untilFresh("a save in " + moved)
	}
}

// TestFurtherFoldersReload: a user's folder may come and go; so may a further
// one, and this is said.
func TestFurtherFoldersReload(t *testing.T) {
	root, away := t.TempDir(), t.TempDir()
	user, extra := filepath.Join(away, "config/agents"), filepath.Join(away, "extra/agents")
	put(t, filepath.Join(extra, "e.md"), agent("E", "e"))
	l := openT(t, root, &agentdefs.Options{UserDir: user, Dirs: []string{extra}})
	put(t, filepath.Join(user, "sub/u.md"), agent("U", "u"))
	l.untilFresh("the user's folder coming")
	put(t, filepath.Join(user, "sub/u.md"), agent("U", "v"))
	l.untilFresh("a save in it")
	must(t, os.RemoveAll(filepath.Join(away, "config")))
	l.untilFresh("it going")

	must(t, os.Rename(filepath.Join(away, "extra"), filepath.Join(away, "other")))
	s := l.until("the further folder is gone", func(s *agentdefs.Snapshot) bool { _, ok := s.Agent("e"); return !ok })
	if ds := s.Diagnostics(); len(ds) != 1 || ds[0].Code != "file-unreadable" || ds[0].File != filepath.ToSlash(extra) {
		t.Errorf("diagnostics %v, want file-unreadable for %s", ds, extra)
	}
	must(t, os.Rename(filepath.Join(away, "other"), filepath.Join(away, "extra")))
	l.untilFresh("it being back")
}

// TestEditors saves as editors do; no save takes the agent away in between.
func TestEditors(t *testing.T) {
	for name, save := range map[string]func(t *testing.T, file, text string){
		"truncate and write": func(t *testing.T, file, text string) { put(t, file, text) },
		"write and rename": func(t *testing.T, file, text string) {
			put(t, file+".tmp", text)
			must(t, os.Rename(file+".tmp", file))
		},
		"vim with backup": func(t *testing.T, file, text string) {
			put(t, filepath.Join(filepath.Dir(file), "4913"), "")
			must(t, os.Remove(filepath.Join(filepath.Dir(file), "4913")))
			must(t, os.Rename(file, file+"~"))
			put(t, file, text)
			must(t, os.Remove(file+"~"))
		},
		"emacs": func(t *testing.T, file, text string) {
			dir, base := filepath.Split(file)
			must(t, os.Symlink("user@host.1:2", filepath.Join(dir, ".#"+base)))
			put(t, filepath.Join(dir, "#"+base+"#"), text)
			old, err := os.ReadFile(file)
			must(t, err)
			put(t, file+"~", string(old))
			put(t, file, text)
			must(t, os.Remove(filepath.Join(dir, "#"+base+"#")))
			must(t, os.Remove(filepath.Join(dir, ".#"+base)))
		},
		"in pieces": func(t *testing.T, file, text string) {
			f, err := os.Create(file)
			must(t, err)
			defer f.Close()
			for i := range len(text) {
				_, err := f.WriteString(text[i : i+1])
				must(t, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			file := filepath.Join(root, ".claude/agents/a.md")
			put(t, file, agent("A", "0"))
			l := openT(t, root, nil)
			for i := range 5 {
				save(t, file, "---\ndescription: A\npermission:\n  \"*\": allow\n  shell_exec: deny\n---\n"+fmt.Sprint(i))
				l.untilFresh(fmt.Sprint("save ", i))
			}
			for _, c := range l.changes {
				if d, ok := c.Snapshot.Agent("a"); ok && d.Prompt != "0" && !d.Permission.DeniesAll("shell_exec") {
					t.Errorf("snapshot %d has rules %q, want shell_exec denied", c.Snapshot.Version, agentdefstest.Rules(d))
				} else if !ok && name != "vim with backup" { // which takes it away itself
					t.Errorf("snapshot %d is without the agent", c.Snapshot.Version)
				}
			}
		})
	}
}

// TestBurst: a checkout of many files is few snapshots. A pause in it, as on a
// busy machine, may make one more.
func TestBurst(t *testing.T) {
	root := t.TempDir()
	for i := range 300 {
		put(t, filepath.Join(root, fmt.Sprintf(".claude/agents/%d/a%d.md", i%7, i)), agent("old", "x"))
	}
	l := openT(t, root, nil)
	last, pauses := time.Now(), 0
	for i := range 300 {
		file := filepath.Join(root, fmt.Sprintf(".claude/agents/%d/a%d.md", i%7, i))
		must(t, os.Remove(file))
		put(t, file, agent("new", "x"))
		if time.Since(last) > 10*time.Millisecond {
			pauses++
		}
		last = time.Now()
	}
	l.untilFresh("a checkout")
	if n := len(l.changes); n > 5+pauses {
		t.Errorf("%d snapshots of one checkout with %d pauses, want at most 5 more than pauses", n, pauses)
	}
}

// TestNothingChanged: what no reader can see makes no snapshot.
func TestNothingChanged(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, ".claude/agents/a.md")
	put(t, file, agent("A", "a"))
	l := openT(t, root, nil)
	first, _ := l.newest.Snapshot.Agent("a")
	put(t, file, agent("A", "a"))
	must(t, os.Chmod(file, 0o600))
	put(t, filepath.Join(root, ".claude/agents/notes.txt"), "x")
	put(t, filepath.Join(root, "main.go"), "x")
	must(t, os.Mkdir(filepath.Join(root, ".claude/agents/empty"), 0o777))
	put(t, filepath.Join(root, ".claude/agents/z.md"), agent("Z", "z"))
	s := l.until("z is there", func(s *agentdefs.Snapshot) bool { _, ok := s.Agent("z"); return ok })
	if s.Version != 2 {
		t.Errorf("version %d, want 2: only z.md is new", s.Version)
	}
	if d, _ := s.Agent("a"); d != first {
		t.Error("the definition of a file that has not changed was made anew")
	}
}

package agentdefs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

// TestReload makes one change after the other and waits for what a fresh load
// gives.
func TestReload(t *testing.T) {
	type step struct {
		what string
		do   func(t *testing.T, root string)
	}
	write := func(file, text string) step {
		return step{"writing " + file, func(t *testing.T, root string) { put(t, filepath.Join(root, file), text) }}
	}
	remove := func(file string) step {
		return step{"removing " + file, func(t *testing.T, root string) { must(t, os.RemoveAll(filepath.Join(root, file))) }}
	}
	rename := func(from, to string) step {
		return step{"renaming " + from + " to " + to, func(t *testing.T, root string) {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, to)), 0o777))
			must(t, os.Rename(filepath.Join(root, from), filepath.Join(root, to)))
		}}
	}
	link := func(to, at string) step {
		return step{"linking " + at + " to " + to, func(t *testing.T, root string) {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, at)), 0o777))
			must(t, os.Symlink(to, filepath.Join(root, at)))
		}}
	}
	swap := func(to, at string) step {
		return step{"swapping the link " + at + " to " + to, func(t *testing.T, root string) {
			must(t, os.Symlink(to, filepath.Join(root, at)+"_new"))
			must(t, os.Rename(filepath.Join(root, at)+"_new", filepath.Join(root, at)))
		}}
	}
	all := func(what string, steps ...step) step {
		return step{what, func(t *testing.T, root string) {
			for _, s := range steps {
				s.do(t, root)
			}
		}}
	}
	a, b, c := agent("A", "a"), agent("B", "b"), agent("C", "c")

	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"subfolders that are not read are told of", []step{
			write(".agents/agents/a.md", a), write(".agents/agents/team/b.md", b), write(".agents/agents/team/deep/c.md", c),
			remove(".agents/agents/team/b.md"), rename(".agents/agents/team", ".agents/agents/other"), remove(".agents/agents/other"),
		}},
		{"files", []step{
			write(".agents/agents/a.md", a), write(".agents/agents/b.md", b), write(".agents/agents/a.md", c),
			rename(".agents/agents/a.md", ".agents/agents/c.md"), rename(".agents/agents/c.md", ".agents/agents/b.md"), remove(".agents/agents/b.md"),
		}},
		{"same size", []step{write(".agents/agents/a.md", a), write(".agents/agents/a.md", agent("B", "a")), write(".agents/agents/a.md", agent("C", "a"))}},
		{"folders", []step{
			write(".claude/agents/x/y/a.md", a), rename(".claude/agents/x", ".claude/agents/z"), write(".claude/agents/z/y/a.md", b),
			rename(".claude/agents/z/y", "y"), rename("y", ".claude/agents/y"), write(".claude/agents/y/c.md", c), remove(".claude/agents/y"), write(".claude/agents/y/c.md", c),
		}},
		{"ours beside theirs", []step{
			write(".claude/agents/a.md", a), write(".agents/agents/b.md", b), write(".claude/agents/a.md", c), rename(".agents", ".agents_"),
			write(".claude/agents/a.md", a), rename(".agents_", ".agents"), write(".agents/agents/b.md", a), remove(".agents/agents"), remove(".claude"),
		}},
		{"a file for a folder", []step{
			write(".agents/agents", "a file"), write(".claude/agents/a.md", a), remove(".agents/agents"), write(".agents/agents/a.md", b), remove(".agents"), write(".agents", "a file"),
		}},
		{"built-in", []step{write(".agents/agents/general.md", a), write(".agents/agents/general.md", "---\ndisable: true\n---\n"), remove(".agents/agents/general.md")}},
		{"duplicates", []step{
			write(".agents/agents/a.md", a), write(".agents/agents/b.md", "---\nname: a\ndescription: x\n---\nx"), remove(".agents/agents/a.md"), write(".agents/agents/a.md", a),
		}},
		{"symlinked folder", []step{
			write("v1/a.md", a), write("v2/a.md", b), write("v2/b.md", b), link("../v1", ".agents/agents"), swap("../v2", ".agents/agents"),
			write("v2/a.md", c), write("v1/a.md", c), swap("../v1", ".agents/agents"), rename("v1", "v3"), rename("v3", "v1"), remove(".agents/agents"), link("../v2", ".agents/agents"),
		}},
		{"symlinked file", []step{
			write("shared/a.md", a), link("../../shared/a.md", ".agents/agents/a.md"), write("shared/a.md", b), rename("shared", "moved"), rename("moved", "shared"),
			remove("shared/a.md"), write("shared/a.md", c), swap("../../shared/b.md", ".agents/agents/a.md"), write("shared/b.md", b),
		}},
		{"link to link", []step{
			write("real/a.md", a), link("real", "one"), link("one", "two"), link("../two", ".claude/agents"), write("real/a.md", b), write("other/a.md", c), swap("other", "one"), write("other/b.md", b), write("real/a.md", c), swap("real", "one"),
		}},
		{"data folder", []step{ // as Kubernetes mounts configuration
			write(".claude/agents/..1/a.md", a), link("..1", ".claude/agents/..data"), link("..data/a.md", ".claude/agents/a.md"),
			write(".claude/agents/..2/a.md", b), swap("..2", ".claude/agents/..data"), remove(".claude/agents/..1"), write(".claude/agents/..2/a.md", c),
		}},
		{"dangling and looping", []step{
			link("../../gone/a.md", ".claude/agents/a.md"), write("gone/a.md", a), remove("gone"), write("gone/a.md", b), link("x", ".claude/agents/x"), link(".", ".claude/agents/self"),
			link("y.md", ".claude/agents/y.md"), swap("a.md", ".claude/agents/y.md"), link("../later", ".claude/agents/later"), write(".claude/later/c.md", c), link("../../..", ".claude/agents/up"),
		}},
		{"many at once", []step{
			all("a checkout", write(".claude/agents/a.md", a), write(".claude/agents/x/b.md", b), write(".claude/agents/x/c.md", c)),
			all("another", remove(".claude/agents/x"), write(".claude/agents/x/b.md", c), rename(".claude/agents/a.md", ".claude/agents/x/a.md")),
			all("all new", remove(".claude"), write(".claude/agents/x/b.md", b)),
		}},
		{"no text", []step{write(".agents/agents/a.md", a), write(".agents/agents/a.md", "# prose"), write(".agents/agents/a.md", b), write(".agents/agents/a.md", "---\nname: a\n---\nx")}},
	} {
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

// TestBurst: a checkout of many files is few snapshots.
func TestBurst(t *testing.T) {
	root := t.TempDir()
	for i := range 300 {
		put(t, filepath.Join(root, fmt.Sprintf(".claude/agents/%d/a%d.md", i%7, i)), agent("old", "x"))
	}
	l := openT(t, root, nil)
	for i := range 300 {
		file := filepath.Join(root, fmt.Sprintf(".claude/agents/%d/a%d.md", i%7, i))
		must(t, os.Remove(file))
		put(t, file, agent("new", "x"))
	}
	l.untilFresh("a checkout")
	if n := len(l.changes); n > 5 {
		t.Errorf("%d snapshots of one checkout, want at most 5", n)
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

package worktree_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/internal/worktree"
)

// lab is a folder with a repository "repo" and a store of worktrees.
type lab struct {
	*testing.T
	dir, repo string
	store     *worktree.Store
}

// newLab runs a script in a new repository that has a commit.
func newLab(t *testing.T, script string) *lab {
	t.Helper()
	l := emptyLab(t)
	l.sh(l.repo, `git init -q -b main .; printf 'one\ntwo\nthree\n' >a.txt; mkdir sub; echo s >sub/s.txt; echo '*.log' >.gitignore; git add .; git commit -qm first; `+script)
	return l
}

// emptyLab has a folder instead of the repository.
func emptyLab(t *testing.T) *lab {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{T: t, dir: dir, repo: filepath.Join(dir, "repo"), store: worktree.Open(filepath.Join(dir, "state", "worktrees"))}
	for _, name := range []string{"repo", "home"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	settings := "[user]\n\tname = a\n\temail = a@example.com\n[protocol \"file\"]\n\tallow = always\n"
	if err := os.WriteFile(filepath.Join(dir, "home", ".gitconfig"), []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	return l
}

// sh runs a script of the shell in a folder, and returns what it prints.
func (l *lab) sh(dir, script string) string {
	l.Helper()
	cmd := exec.Command("bash", "-c", "set -e\n"+script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "D="+l.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		l.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return string(out)
}

func (l *lab) create(id string) *worktree.Worktree {
	l.Helper()
	w, err := l.store.Create(l.Context(), l.repo, id)
	if err != nil {
		l.Fatal(err)
	}
	return w
}

func (l *lab) changes(w *worktree.Worktree) *worktree.Changes {
	l.Helper()
	c, err := w.Changes(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	return c
}

// bytesOf returns all that a folder holds, by path, with modes and links. Objects
// are left out, and what is said to be.
func bytesOf(t *testing.T, dir string, without ...string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if slices.Contains(without, rel) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += " -> " + target
		case d.Type().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(data)
		}
		found[rel] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// ofOthers are the parts of a repository that a worktree adds to.
var ofOthers = []string{".git/objects", ".git/worktrees", ".git/refs/heads/agentworker", ".git/logs/refs/heads/agentworker"}

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s: %s is %.200q, want %.200q", what, name, got[name], text)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is new", what, name)
		}
	}
}

// states are repositories as they come: a script in one with a commit, and what
// the worktree then lacks of its files.
var states = map[string]struct {
	script string
	lacks  []string
}{
	"clean": {},
	"changed": {script: `
		echo four >>a.txt; git add a.txt; echo five >>a.txt # staged, and not
		mkdir -p new/deep; echo n >new/deep/n.txt; ln -s ../a.txt new/link; echo x >run.sh; chmod +x run.sh
		echo n >intended.txt; git add -N intended.txt
		git rm -q --cached sub/s.txt
		printf x >$'new\nline'; printf x >'"quoted"'; printf x >-dash; printf x >'ünï *?['
		echo l >x.log; mkdir logs; echo l >logs/y.log`, lacks: []string{"x.log", "logs"}},
	"of another kind":     {script: `rm -r sub; echo f >sub; rm a.txt; mkdir a.txt; echo f >a.txt/f; chmod +x .gitignore`},
	"link for folder":     {script: `mv sub real; ln -s real sub`},
	"flags":               {script: `git update-index --assume-unchanged a.txt; echo more >>a.txt; git update-index --skip-worktree sub/s.txt; echo more >>sub/s.txt`},
	"detached":            {script: `git checkout -q --detach; rm a.txt`},
	"stashed":             {script: `echo s >>a.txt; git stash -q; echo w >>sub/s.txt`},
	"split index":         {script: `git update-index --split-index; echo four >>a.txt; git add a.txt; echo n >n.txt`},
	"untracked cache":     {script: `git config core.untrackedCache true; git status -s; echo n >n.txt`},
	"merged, uncommitted": {script: `git checkout -qb o; echo o >o.txt; git add o.txt; git commit -qm o; git checkout -q main; echo m >m.txt; git add m.txt; git commit -qm m; git merge -q --no-commit o`},
	"line ends":           {script: `printf '*.bat text eol=crlf\n*.txt text\n' >.gitattributes; printf 'a\r\nb\r\n' >x.bat; git add .; git commit -qm crlf; printf 'c\r\n' >>x.bat`},
	"encodings":           {script: `printf '*.ps1 text working-tree-encoding=UTF-16LE eol=crlf\n' >.gitattributes; printf 'h\0i\0\r\0\n\0' >x.ps1; git add .; git commit -qm enc`},
	"filters":             {script: `printf '*.bin filter=lfs diff=lfs merge=lfs -text\n' >.gitattributes; git config filter.lfs.clean 'sed s/BIG/pointer/'; git config filter.lfs.smudge 'sed s/pointer/BIG/'; git config filter.lfs.required true; echo BIG >x.bin; git add .; git commit -qm lfs; echo BIG two >y.bin`},
	"sparse":              {script: `mkdir far; echo f >far/f.txt; git add .; git commit -qm far; git sparse-checkout set --cone sub; echo n >sub/n.txt`},
	"sparse index":        {script: `mkdir far; echo f >far/f.txt; git add .; git commit -qm far; git sparse-checkout set --cone --sparse-index sub; echo n >sub/n.txt`},
	"excluded":            {script: `echo '*.tmp' >>.git/info/exclude; echo x >x.tmp; echo '*.glob' >~/ignore; git config --global core.excludesFile '~/ignore'; echo x >x.glob`, lacks: []string{"x.tmp", "x.glob"}},
	"submodule":           {script: `git init -q $D/lib; git -C $D/lib commit -q --allow-empty -m l; git submodule --quiet add $D/lib lib; git commit -qm sub; echo x >lib/own`, lacks: []string{"lib/.git", "lib/own"}},
	"nested repository":   {script: `git init -q nested; echo x >nested/x; git init -q with; git -C with commit -q --allow-empty -m l; echo x >with/x`, lacks: []string{"nested", "with"}},
}

// TestCreate: a worktree has the current working files in any state of the repository, is clean
// and on its branch. The repository does not change by a byte.
func TestCreate(t *testing.T) {
	for name, tt := range states {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, tt.script)
			before := bytesOf(t, l.repo, ofOthers...)
			w := l.create("ses_1")
			same(t, "the repository", bytesOf(t, l.repo, ofOthers...), before)
			want := bytesOf(t, l.repo, append(tt.lacks, ".git")...)
			got := bytesOf(t, w.Path, ".git")
			for name := range got {
				if got[name] != want[name] && (name == "." || strings.HasPrefix(got[name], "d")) {
					delete(got, name) // a folder that is empty for what is left out
				}
			}
			for name := range want {
				if strings.HasPrefix(want[name], "d") && got[name] == "" {
					delete(want, name)
				}
			}
			same(t, "the worktree", got, want)
			if branch := strings.TrimSpace(l.sh(w.Path, "git symbolic-ref HEAD")); branch != "refs/heads/agentworker/ses_1" {
				t.Errorf("on %s", branch)
			}
			if name != "filters" {
				if status := l.sh(w.Path, "git status --porcelain"); status != "" {
					t.Errorf("git status: %s", status)
				}
			}
			if c := l.changes(w); len(c.Files) > 0 || len(c.Left) > 0 || c.Commits > 0 {
				t.Errorf("changes of nothing: %+v", c)
			}
			if unused, err := w.DiscardUnused(t.Context()); err != nil || !unused {
				t.Errorf("discarding it: %v, %v", unused, err)
			}
			gone(t, l, w)
			same(t, "the repository after all", bytesOf(t, l.repo, ".git/objects"), before)
		})
	}
}

// gone checks that nothing of a worktree is left.
func gone(t *testing.T, l *lab, w *worktree.Worktree) {
	t.Helper()
	if _, err := os.Lstat(w.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", w.Path, err)
	}
	if out := l.sh(l.repo, "git worktree list; git branch -a"); strings.Contains(out, "agentworker") || strings.Contains(out, w.Path) {
		t.Errorf("git still knows it: %s", out)
	}
	if all, err := l.store.List(); err != nil || len(all) > 0 {
		t.Errorf("still listed: %v, %v", all, err)
	}
}

// TestGitGetsNoKeys: other programs of the user may read git's environment.
func TestGitGetsNoKeys(t *testing.T) {
	l := newLab(t, "")
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	seen := filepath.Join(l.dir, "seen")
	bin := filepath.Join(l.dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\nenv >>"+seen+"\nexec "+git+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("OPENAI_API_KEY", "canary")
	t.Setenv("WORKER_NATS", "canary")
	l.create("w")
	env, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(env), "canary") || !strings.Contains(string(env), "PATH=") {
		t.Errorf("git has got %s", env)
	}
}

package worktree_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentworker/worker/internal/worktree"
)

// TestApply: the changes of a worktree arrive in the working files, beside the user's own
// changes. Nothing else of the repository changes.
func TestApply(t *testing.T) {
	l := newLab(t, `
		echo gone >gone.txt; mkdir -p d/e; echo f >d/e/f.txt; echo k >kept.txt; echo m >mode.sh; echo t >to-folder; mkdir to-file; echo t >to-file/t; ln -s a.txt link
		printf '*.bat text eol=crlf\n*.bin filter=lfs\n' >.gitattributes; printf 'a\r\nb\r\n' >x.bat; echo raw >x.bin
		printf '\0b' >binary; echo w >mine.txt; chmod 600 kept.txt
		git add .; git commit -qm more; echo s >staged.txt; git add staged.txt; echo stash >>a.txt; git stash -q -- a.txt; echo u >untracked.txt; echo same >same.txt`)
	w := l.create("ses_1")
	l.sh(w.Path, `
		rm gone.txt d/e/f.txt; echo more >>kept.txt; chmod +x mode.sh; rm to-folder; mkdir to-folder; echo i >to-folder/i; rm -r to-file; echo f >to-file; ln -sf kept.txt link
		printf 'c\r\n' >>x.bat; echo raw2 >>x.bin; printf '\0c' >binary; printf 'one\ntwo\nthree\nfour\n' >a.txt; echo u2 >>untracked.txt; echo new >same.txt
		mkdir -p n/n; echo n >n/n/n.txt; echo ignored >x.log; printf x >$'odd "\nname'`)
	l.sh(l.repo, `printf 'zero\none\ntwo\nthree\n' >a.txt; echo mine >>mine.txt; echo mine >only-mine.txt; echo new >same.txt`)
	before := bytesOf(t, l.repo, ofOthers...)
	if got, want := l.changes(w).Diffstat(), "17 files changed, 11 insertions(+), 6 deletions(-)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	applied, err := w.Apply(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if applied.Kept != "" || applied.Branch != "" || len(applied.Files) != 17 {
		t.Errorf("%+v", applied)
	}
	want := before
	for _, name := range []string{"gone.txt", "d", "d/e", "d/e/f.txt", "to-folder", "to-file/t"} {
		delete(want, name)
	}
	for name, text := range map[string]string{
		"kept.txt": "-rw------- k\nmore\n", "mode.sh": "-rwxr-xr-x m\n", "to-folder": "drwxr-xr-x", "to-folder/i": "-rw-r--r-- i\n",
		"to-file": "-rw-r--r-- f\n", "link": "Lrwxrwxrwx -> kept.txt", "x.bat": "-rw-r--r-- a\r\nb\r\nc\r\n", "x.bin": "-rw-r--r-- raw\nraw2\n",
		"binary": "-rw-r--r-- \x00c", "a.txt": "-rw-r--r-- zero\none\ntwo\nthree\nfour\n", "untracked.txt": "-rw-r--r-- u\nu2\n",
		"n": "drwxr-xr-x", "n/n": "drwxr-xr-x", "n/n/n.txt": "-rw-r--r-- n\n", "odd \"\nname": "-rw-r--r-- x",
	} {
		want[name] = text
	}
	same(t, "the repository", bytesOf(t, l.repo, ofOthers...), want)
	gone(t, l, w)
}

// TestConflicts: what can't be merged is named, and nothing is changed.
func TestConflicts(t *testing.T) {
	l := newLab(t, `echo g >g.txt; echo h >h.txt; printf '\0a' >b.bin; echo f >f; git add .; git commit -qm more; echo x >free`)
	w := l.create("ses_1")
	l.sh(w.Path, `echo w >>a.txt; rm g.txt; echo w >>h.txt; printf '\0w' >b.bin; echo w >both.txt; rm f; mkdir f; echo w >f/w; echo w >seen.txt; mkdir dir; echo w >dir/w; echo fine >fine.txt; rm free; echo w >n/w 2>/dev/null || { mkdir n; echo w >n/w; }`)
	l.sh(l.repo, `echo m >>a.txt; echo m >>g.txt; rm h.txt; printf '\0m' >b.bin; echo m >both.txt; echo m >>f; echo seen.txt >>.gitignore; echo m >seen.txt; echo m >dir; git init -q n`)
	before := bytesOf(t, l.repo, ofOthers...)
	kept := bytesOf(t, w.Path, ".git")
	_, err := w.Apply(t.Context())
	var conflict *worktree.ConflictError
	if !errors.As(err, &conflict) {
		t.Fatal(err)
	}
	var got []string
	for _, c := range conflict.Conflicts {
		got = append(got, c.Path+": "+c.Reason)
	}
	if want := []string{
		"a.txt: the same lines were changed in both",
		"b.bin: it was changed in both, and is no text",
		"both.txt: it was added in both",
		"dir/w: dir is a file here",
		"f: it was deleted in the worktree and changed here",
		"f/w: f is a file here",
		"g.txt: it was deleted in the worktree and changed here",
		"h.txt: it was changed in the worktree and deleted here",
		"n/w: n is a repository of its own here",
		"seen.txt: it is there already, and ignored",
	}; !slices.Equal(got, want) {
		t.Errorf("conflicts %q, want %q", got, want)
	}
	if !strings.Contains(err.Error(), "a.txt") || !strings.Contains(err.Error(), w.Path) {
		t.Errorf("%v", err)
	}
	same(t, "the repository", bytesOf(t, l.repo, ofOthers...), before)
	same(t, "the worktree", bytesOf(t, w.Path, ".git"), kept)
	l.sh(l.repo, `git checkout -q -- .; rm -rf both.txt seen.txt dir n`)
	if _, err := w.Apply(t.Context()); err != nil {
		t.Errorf("without the conflicts: %v", err)
	}
	gone(t, l, w)
}

// TestTakenBack: where a change can't be made, those before it are taken back,
// and the worktree is kept. Repeating it then does all.
func TestTakenBack(t *testing.T) {
	l := newLab(t, `mkdir held; echo h >held/h.txt; git add .; git commit -qm more`)
	w := l.create("ses_1")
	l.sh(w.Path, `echo w >>a.txt; rm sub/s.txt; echo n >b.txt; mkdir n; echo n >n/n; rm -r held; echo w >held`)
	// The folder that the last change replaces has an empty one within, which no
	// tree shows.
	l.sh(l.repo, `mkdir held/empty`)
	before := bytesOf(t, l.repo, ofOthers...)
	if w.Repo != l.repo {
		t.Fatal(w.Repo)
	}
	_, err := w.Apply(t.Context())
	if err == nil || !strings.Contains(err.Error(), "nothing was changed: held") {
		t.Fatal(err)
	}
	same(t, "the repository", bytesOf(t, l.repo, ofOthers...), before)
	l.sh(l.repo, `rmdir held/empty`)
	if _, err := w.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := l.sh(l.repo, `cat a.txt b.txt n/n held; ls`); got != "one\ntwo\nthree\nw\nn\nn\nw\na.txt\nb.txt\nheld\nn\n" {
		t.Errorf("%q", got)
	}
	gone(t, l, w)
}

// TestKept: what Apply does not bring over stays: commits on their branch, and
// repositories of their own in the worktree.
func TestKept(t *testing.T) {
	l := newLab(t, ``)
	w := l.create("ses_1")
	l.sh(w.Path, `echo w >>a.txt; git commit -qam one; echo w >>a.txt; git commit -qam two; echo loose >>a.txt`)
	if c := l.changes(w); c.Commits != 2 || c.Diffstat() != "1 file changed, 3 insertions(+)" {
		t.Errorf("%+v", c)
	}
	if unused, err := w.DiscardUnused(t.Context()); unused || err != nil {
		t.Errorf("discarded as unused: %v, %v", unused, err)
	}
	applied, err := w.Apply(t.Context())
	if err != nil || applied.Branch != "agentworker/ses_1" || applied.Kept != "" {
		t.Fatalf("%+v, %v", applied, err)
	}
	if got := l.sh(l.repo, `git log --format=%s agentworker/ses_1; git worktree list | wc -l`); got != "two\none\nfirst\n1\n" {
		t.Errorf("%q", got)
	}
	w = l.create("ses_2")
	l.sh(w.Path, `git init -q own; echo x >own/x; echo b >b.txt`)
	if applied, err = w.Apply(t.Context()); err != nil || !strings.Contains(applied.Kept, "own") {
		t.Fatalf("%+v, %v", applied, err)
	}
	l.sh(l.repo, `cat b.txt; echo mine >b.txt`)
	if applied, err = w.Apply(t.Context()); err != nil || applied.Kept == "" {
		t.Errorf("once more: %+v, %v", applied, err)
	}
	if got := l.sh(l.repo, `cat b.txt`); got != "mine\n" {
		t.Errorf("applied twice: %q", got)
	}
	if err := w.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	w = l.create("ses_3")
	l.sh(w.Path, `echo l >x.log; mkdir -p mod/ro; echo x >mod/ro/x.log; chmod 555 mod/ro mod`)
	if unused, err := w.DiscardUnused(t.Context()); unused || err != nil {
		t.Errorf("discarded with ignored files: %v, %v", unused, err)
	}
	if err := w.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(w.Path); err == nil {
		t.Error("it is still there")
	}
}

// TestNested: a worktree is made of a worktree, and its changes go there.
func TestNested(t *testing.T) {
	l := newLab(t, ``)
	outer := l.create("ses_1")
	write(t, outer.Path, "outer.txt", "o\n")
	inner, err := l.store.Create(t.Context(), outer.Path, "ses_2")
	if err != nil {
		t.Fatal(err)
	}
	l.sh(inner.Path, `cat outer.txt; echo i >inner.txt`)
	if _, err := inner.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := l.changes(outer).Diffstat(); got != "2 files changed, 2 insertions(+)" {
		t.Error(got)
	}
	if got := l.sh(l.repo, "git status --porcelain"); got != "" {
		t.Error(got)
	}
}

// TestForged: a worktree whose .git file names another repository is compared with its own
// base. Nothing of the other repository is run.
func TestForged(t *testing.T) {
	l := newLab(t, ``)
	w := l.create("ses_1")
	l.sh(w.Path, `rm .git; git init -q .`+hostile+`; rm -f $D/ran`)
	c := l.changes(w)
	if _, err := w.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(l.dir, "ran")); err == nil {
		t.Errorf("it ran: %s", data)
	}
	if len(c.Files) != 1 || c.Files[0].Path != ".gitattributes" {
		t.Errorf("%+v", c.Files)
	}
	gone(t, l, w)
}

// TestAtOnce: worktrees are made, applied and removed at once, by stores of their
// own as in several processes.
func TestAtOnce(t *testing.T) {
	l := newLab(t, ``)
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			store := worktree.Open(filepath.Join(l.dir, "state", "worktrees"))
			w, err := store.Create(t.Context(), l.repo, fmt.Sprintf("ses_%d", i))
			if err != nil {
				t.Error(err)
				return
			}
			write(t, w.Path, fmt.Sprintf("%d.txt", i), "x\n")
			if i%2 == 0 {
				if _, err := w.Apply(t.Context()); err != nil {
					t.Error(err)
				}
			} else if err := w.Discard(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := l.sh(l.repo, "git status --porcelain; git worktree list | wc -l; git branch --list 'agentworker/*'; git fsck --no-dangling 2>&1"); got != "?? 0.txt\n?? 2.txt\n?? 4.txt\n1\n" {
		t.Errorf("%q", got)
	}
}

// TestOrphans: what a killed process leaves is listed, found by the start of its
// id, and discarded; whatever it had come to.
func TestOrphans(t *testing.T) {
	l := newLab(t, ``)
	w := l.create("ses_whole")
	write(t, w.Path, "n.txt", "n\n")
	half := l.create("ses_half")
	l.sh(filepath.Dir(half.Path), `sed -i -E 's/"(base|gitDir)":"[^"]*"/"\1":""/g' ses_half.json; rm -r ses_half/sub`)
	other := worktree.Open(filepath.Join(l.dir, "state", "worktrees")) // another process
	all, err := other.List()
	if err != nil || len(all) != 2 || all[0].ID != "ses_whole" || all[1].ID != "ses_half" || all[1].Base != "" {
		t.Fatalf("%+v, %v", all, err)
	}
	if c, err := all[0].Changes(t.Context()); err != nil || c.Diffstat() != "1 file changed, 1 insertion(+)" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := all[1].Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "never finished") {
		t.Errorf("applying half of one: %v", err)
	}
	if _, err := other.Get("ses_"); err == nil || !strings.Contains(err.Error(), "2 worktrees") {
		t.Errorf("%v", err)
	}
	if _, err := other.Get("ses_none"); !errors.Is(err, worktree.ErrNotFound) {
		t.Errorf("%v", err)
	}
	for _, id := range []string{"ses_w", "ses_half"} {
		found, err := other.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := found.Discard(t.Context()); err != nil {
			t.Error(err)
		}
	}
	gone(t, l, w)
	w = l.create("ses_left")
	if err := os.RemoveAll(l.repo); err != nil {
		t.Fatal(err)
	}
	if err := w.Discard(t.Context()); err != nil {
		t.Errorf("without the repository: %v", err)
	}
}

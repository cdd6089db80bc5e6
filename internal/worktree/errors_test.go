package worktree_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/internal/worktree"
)

// TestCreateRefused: what a worktree can't be made of is an error that says why,
// and nothing is left behind.
func TestCreateRefused(t *testing.T) {
	for _, tt := range []struct{ name, script, at, id, want string }{
		{"no repository", ``, ".", "ses_1", "git init makes one"},
		{"bare", `git init -q --bare .`, ".", "ses_1", "git init makes one"},
		{"part of one", `git init -q .; mkdir sub`, "sub", "ses_1", "start there"},
		{"merge", `git init -qb main .; echo a >f; git add f; git commit -qm a; git checkout -qb o; echo o >f; git commit -qam o; git checkout -q main; echo m >f; git commit -qam m; git merge -q o || true`,
			".", "ses_1", "resolve the conflicts in f"},
		{"branch is there", `git init -qb main .; git commit -q --allow-empty -m a; git branch agentworker/ses_1`, ".", "ses_1", "already exists"},
		{"name of a branch", `git init -qb main .; git commit -q --allow-empty -m a; git branch agentworker`, ".", "ses_1", "agentworker"},
		{"id", `git init -q .`, ".", "../x", "is no id"},
		{"unreadable", `git init -q .; echo x >f; ln -s loop loop; mkfifo pipe; chmod 0 f`, ".", "ses_1", "f"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "unreadable" && os.Geteuid() == 0 {
				return // nothing is unreadable to root
			}
			l := emptyLab(t)
			l.sh(l.repo, tt.script)
			before := bytesOf(t, l.repo, ".git/objects")
			_, err := l.store.Create(t.Context(), filepath.Join(l.repo, tt.at), tt.id)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v, want %q", err, tt.want)
			}
			if tt.want == "git init makes one" != errors.Is(err, worktree.ErrNoRepository) && tt.name != "part of one" {
				t.Errorf("%v as ErrNoRepository: %v", err, errors.Is(err, worktree.ErrNoRepository))
			}
			same(t, "the repository", bytesOf(t, l.repo, ".git/objects"), before)
			if all, err := l.store.List(); err != nil || len(all) > 0 {
				t.Errorf("left behind: %v, %v", all, err)
			}
			if left, _ := filepath.Glob(filepath.Join(l.dir, "state", "worktrees", "ses_*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestUnborn: a repository without a commit has worktrees, too.
func TestUnborn(t *testing.T) {
	l := emptyLab(t)
	l.sh(l.repo, `git init -qb main .; echo n >n.txt`)
	w := l.create("ses_1")
	l.sh(w.Path, `echo more >>n.txt; git log --oneline`)
	if c := l.changes(w); c.Diffstat() != "1 file changed, 1 insertion(+)" {
		t.Error(c.Diffstat())
	}
	if _, err := w.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := l.sh(l.repo, "cat n.txt; git status --porcelain"); got != "n\nmore\n?? n.txt\n" {
		t.Errorf("%q", got)
	}
}

// hostile sets up a program that marks the folder above the repository, in all settings, hooks
// and attributes that can name one.
const hostile = `
	cat >$D/evil <<'END'
#!/bin/sh
echo "$0 $*" >>$D/ran
cat
END
	sed -i "s,\$D,$D,g" $D/evil; chmod +x $D/evil; e=$D/evil
	printf '* filter=evil diff=evil merge=evil text=auto\n' >.gitattributes
	cp .gitattributes .git/info/attributes
	for h in pre-commit post-commit post-checkout post-index-change reference-transaction pre-auto-gc post-merge post-rewrite fsmonitor-watchman commit-msg prepare-commit-msg; do cp $e .git/hooks/$h; done
	mkdir .git/config.d; printf '[filter "evil"]\n\tsmudge = %s\n' $e >.git/config.d/inc
	git config include.path config.d/inc
	git config filter.evil.clean $e; git config filter.evil.process $e; git config filter.evil.required true
	git config diff.evil.command $e; git config diff.evil.textconv $e; git config diff.external $e; git config merge.evil.driver "$e %A"
	git config core.hooksPath $D/hooks; mkdir $D/hooks; cp .git/hooks/* $D/hooks
	git config core.pager $e; git config core.editor $e; git config core.askPass $e; git config core.sshCommand $e; git config core.gitProxy $e
	git config credential.helper $e; git config gpg.program $e; git config commit.gpgSign true; git config tag.gpgSign true
	git config alias.status "!$e"; git config alias.worktree "!$e"; git config protocol.ext.allow always; git config protocol.allow always
	git config remote.origin.url "ext::$e"; git config remote.origin.promisor true; git config extensions.partialClone origin; git config core.repositoryFormatVersion 1
	git config hook.evil.event post-checkout; git config hook.evil.command $e; git config "hook.a=b.event" reference-transaction; git config "hook.a=b.command" $e
	git config submodule.recurse true; git config gc.auto 1; git config interactive.diffFilter $e; git config sequence.editor $e
	git config core.fsmonitor $e`

// TestHostile: no program that the repository names is run to make, compare, apply or remove a
// worktree. Neither is a remote asked for a missing object.
func TestHostile(t *testing.T) {
	l := newLab(t, `git config gc.auto 0; echo u >u.txt; git init -q $D/lib; git -C $D/lib commit -q --allow-empty -m l; git submodule --quiet add $D/lib lib; git commit -qm sub`+hostile)
	l.sh(l.repo, `git -C lib config core.fsmonitor $D/evil; cp $D/evil $(git -C lib rev-parse --git-dir)/hooks/post-index-change; echo x >lib/x; rm -f $D/ran`)
	w := l.create("ses_1")
	ran := filepath.Join(l.dir, "ran")
	check := func(when string) {
		t.Helper()
		if data, err := os.ReadFile(ran); err == nil {
			t.Fatalf("%s, it ran: %s", when, data)
		}
	}
	check("created")
	write(t, w.Path, "a.txt", "one\ntwo\nTHREE\n")
	write(t, l.repo, "a.txt", "ONE\ntwo\nthree\n")
	write(t, w.Path, "new.txt", "n\n")
	if c := l.changes(w); len(c.Files) != 2 {
		t.Errorf("%+v", c)
	}
	check("compared")
	if _, err := w.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("applied")
	if data, err := os.ReadFile(filepath.Join(l.repo, "a.txt")); err != nil || string(data) != "ONE\ntwo\nTHREE\n" {
		t.Errorf("merged: %q, %v", data, err)
	}
	w = l.create("ses_2")
	write(t, w.Path, "new.txt", "other\n")
	l.sh(l.repo, `for o in $(git cat-file --batch-all-objects --batch-check='%(objecttype) %(objectname)' | sed -n 's/^tree //p'); do rm -f .git/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-); done; rm -f $D/ran`)
	if _, err := w.Changes(t.Context()); err == nil {
		t.Error("objects that are missing are not missed")
	}
	check("asked for what is missing")
	if err := w.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("discarded")
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

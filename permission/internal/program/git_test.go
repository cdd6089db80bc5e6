package program

import (
	"strings"
	"testing"
)

// The list has no subcommand of git that may print the contents of files, with
// any form of its options.
func TestPrintsNone(t *testing.T) {
	git := Lookup("git")
	for line, want := range map[string]bool{
		"log": true, "log --oneline -5": true, "log --until=x --parents": true, "branch --contains x": true, "log --remotes": true, "log --stat": true,
		"log -p": false, "log -1p": false, "log -U3": false, "log --patch-with-stat": false, "log --pat": false, "log --unified=1": false, "log -L1,2:x": false,
		"status -s": true, "status -v": false, "commit -m v": true, "commit -am x": true, "commit -v": false, "commit -vm x": false,
		"add -v .": true, "add -p": false, "add -i": false, "stash push -m x": true, "stash -p": false, "stash list -p": false, "stash show": false,
		"clone https://x/y": true, "clone git@x:y": true, "clone .": false, "clone file:///x": false, "worktree list": true, "worktree add x": false,
		"for-each-ref --format=%(contents)": false, "diff": false, "show": false, "nope": false, "reset --hard": true, "reset -p": false, "restore -p": false,
	} {
		words := strings.Fields(line)
		if got := git.PrintsNone(words[0], words[1:]); got != want {
			t.Errorf("git %s: got %t, want %t", line, got, want)
		}
	}
}

// Only what can't bring another file into the index keeps it.
func TestKeepsIndex(t *testing.T) {
	git := Lookup("git")
	for line, want := range map[string]bool{
		"status -s": true, "add -A": true, "commit -qm x": true, "log -1": true, "rm -q x": true, "fetch": true,
		"stash list": true, "stash show -p": true, "stash": false, "stash pop": false, "stash -q list": false,
		"worktree list": true, "worktree add x": false, "submodule status": true, "submodule": false, "submodule update": false,
		"reset -q": false, "restore --staged x": false, "checkout x": false, "read-tree x": false, "update-index --add x": false, "mv a b": false,
		"apply --index x": false, "pull": false, "push . a:b": false, "merge x": false, "nope": false,
	} {
		words := strings.Fields(line)
		if got := git.KeepsIndex(words[0], words[1:]); got != want {
			t.Errorf("git %s: got %t, want %t", line, got, want)
		}
	}
	if git.KeepsIndex("stash", []string{"", "list"}) {
		t.Error("git stash with an uncertain word keeps the index")
	}
}

package gitplace_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentworker/worker/internal/gitplace"
)

// TestGitDirs: the folders of a worktree and of a submodule are found; a .git
// file that names a folder which knows nothing of the workspace shows nothing.
func TestGitDirs(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `set -e
		git init -q main
		git init -q other
		for d in main other; do git -C $d -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; done
		git -C main worktree add -q ../tree
		git -C main -c protocol.file.allow=always submodule --quiet add ../other sub
		mkdir forged victim plain
		touch victim/HEAD
		echo "gitdir: ../victim" > forged/.git
		mkdir stolen && cp tree/.git stolen/.git`)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for workspace, want := range map[string][]string{
		"main":     nil, // it lies within
		"tree":     {filepath.Join(root, "main", ".git")},
		"main/sub": {filepath.Join(root, "main", ".git", "modules", "sub")},
		"forged":   nil,
		"stolen":   nil, // the repository knows another worktree by that name
		"plain":    nil,
	} {
		if got := gitplace.GitDirs(filepath.Join(root, workspace)); !slices.Equal(got, want) {
			t.Errorf("of %s: %q, want %q", workspace, got, want)
		}
	}
}

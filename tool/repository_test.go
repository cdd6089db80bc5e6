package tool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFileToolsMakeNoRepository: what git would take for a repository is made by no file tool,
// in whatever order its parts come, and the settings of one that is there are not written.
func TestFileToolsMakeNoRepository(t *testing.T) {
	const head = "ref: refs/heads/x\n"
	for name, files := range map[string][]string{
		"HEAD last":        {"x/objects/a", "x/refs/a", "x/HEAD"},
		"objects last":     {"x/HEAD", "x/refs/a", "x/objects/a"},
		"refs last":        {"x/objects/a", "x/HEAD", "x/refs/heads/x"},
		"in another case":  {"x/OBJECTS/a", "x/refs/a", "x/objects/a", "x/head", "x/HEAD"},
		"commondir":        {"y/objects/a", "y/refs/a", "x/HEAD", "x/commondir"},
		"behind a symlink": {"x/objects/a", "x/refs/a", "l/HEAD"},
		"a gitfile":        {"y/objects/a", "y/refs/a", "x/.git"},
		"at the top":       {"objects/a", "refs/a", "HEAD"},
		"a bare one":       {"bare/config", "bare/hooks/post-checkout", "bare/worktrees/a/commondir"},
	} {
		p := newPlace(t, nil, map[string]string{"x/plain": "", "l": "-> x"})
		p.script(`git init -q --bare bare`)
		config := p.read("bare/config")
		refused := 0
		for _, file := range files {
			if r := p.call("write_file", args{"path": file, "content": head}); r.IsError {
				refused++
				if !strings.Contains(r.Text, "git") {
					t.Errorf("%s: %s: the reason is missing: %s", name, file, r.Text)
				}
			}
		}
		for _, dir := range []string{"x", "."} {
			cmd := exec.Command("git", "-C", filepath.Join(p.dir, dir), "rev-parse", "--git-dir")
			cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(p.dir))
			if out, err := cmd.Output(); err == nil {
				t.Errorf("%s: git takes %s for a repository: %s", name, dir, out)
			}
		}
		if p.read("bare/config") != config || refused == 0 {
			t.Errorf("%s: %d calls were refused, and the settings are %q", name, refused, p.read("bare/config"))
		}
		p.text("write_file", args{"path": "x/plain", "content": "fine"})
		p.text("edit_file", args{"path": "x/plain", "oldText": "fine", "newText": "good"})
	}
	p := newPlace(t, nil, nil)
	p.script(`git init -q --bare bare`)
	p.fails("edit_file", args{"path": "bare/config", "oldText": "bare = true", "newText": "bare = false"}, "git's settings")
}

// script runs a script of bash in the workspace.
func (p *place) script(text string) {
	p.t.Helper()
	cmd := exec.Command("bash", "-ec", text)
	cmd.Dir = p.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
}

package shell

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentworker/worker/permission"
)

// rules parses rules of a user whose home folder is /home/u.
func rules(t testing.TB, text string) *permission.Ruleset {
	t.Helper()
	r, err := permission.ParseJSON([]byte(text), "rules", &permission.ParseOptions{Home: "/home/u"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// tempWorkspace returns an empty workspace with the folders src and docs, and a
// home folder beside it.
func tempWorkspace(t testing.TB) permission.Workspace {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := permission.Workspace{Root: filepath.Join(base, "ws"), Home: filepath.Join(base, "home")}
	for _, dir := range []string{w.Root, w.Home, filepath.Join(w.Root, "src"), filepath.Join(w.Root, "docs")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

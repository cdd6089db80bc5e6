package shell

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentworker/worker/permission"
)

// In a folder that takes names in any case, what a rule denies is denied in
// any. Two names of one file make a folder look like one.
func TestFoldedPaths(t *testing.T) {
	w := tempWorkspace(t)
	for _, dir := range []string{"Data", "docs"} {
		if err := os.MkdirAll(filepath.Join(w.Root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(w.Root, "Data", "name")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	plain := permission.Allow // where the file system tells case apart
	switch w.FoldsCase(filepath.Join(w.Root, "docs", "x")) {
	case true:
		plain = permission.Deny
	case false:
		if err := os.Link(name, filepath.Join(w.Root, "Data", "NAME")); err != nil {
			t.Fatal(err)
		}
	}
	set := rules(t, `{"read_file":{"*":"allow","*.env":"deny","*.PEM":"deny","Data/Secrets/**":"deny","`+w.Root+`/Data/abs":"deny"},"shell_exec":"allow"}`)
	for path, want := range map[string]permission.Action{
		"Data/.ENV": permission.Deny, "Data/.env": permission.Deny, "Data/key.pem": permission.Deny,
		"Data/SECRETS/x": permission.Deny, "Data/ABS": permission.Deny, "Data/x": permission.Allow, "docs/.ENV": plain,
	} {
		if d := decideShell(t, w, set, true, "cat "+path); d.Action != want {
			t.Errorf("cat %s: got %v (%s), want %v", path, d.Action, d.Reason(), want)
		}
	}
}

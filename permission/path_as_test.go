package permission

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWorkspaceAs: in a copy of a workspace, rules about absolute paths are
// written for the original, also below a home folder that is a symlink.
func TestWorkspaceAs(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"real/ws/src", "real/state/copy/src"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	home := filepath.Join(dir, "home")
	if err := os.Symlink(filepath.Join(dir, "real"), home); err != nil {
		t.Fatal(err)
	}
	real := filepath.Join(dir, "real")
	w := Workspace{Root: filepath.Join(real, "state", "copy"), Home: home, As: filepath.Join(real, "ws")}
	for _, tt := range []struct {
		rule, path string
		want       Action
	}{
		{"src/x", "src/x", Deny},
		{real + "/ws/src/**", "src/x", Deny},
		{real + "/ws/src/**", filepath.Join(w.Root, "src/x"), Deny},
		{home + "/ws/**", "src/x", Deny},
		{real + "/state/**", "src/x", Allow},
		{home + "/state/**", "src/x", Allow},
		{real + "/state/**", filepath.Join(real, "state", "other"), Deny},
		{real + "/ws/**", filepath.Join(real, "ws", "src", "x"), Deny},
	} {
		rules, err := NewRuleset(Rule{Tool: "*", Pattern: "*", Action: Allow}, Rule{Tool: "*", Pattern: tt.rule, Action: Deny})
		if err != nil {
			t.Fatal(err)
		}
		values, err := w.PathValues("read_file", tt.path)
		if err != nil {
			t.Fatal(err)
		}
		if d := (&Layers{Static: rules}).Decide(values); d.Action != tt.want {
			t.Errorf("%s by a deny of %s: %s, want %s (%+v)", tt.path, tt.rule, d.Action, tt.want, values)
		}
	}
}

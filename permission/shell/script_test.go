package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/permission"
)

// What a script file holds decides, and is never quoted. A file that the session may
// not read is not read.
func TestScriptFileIsNotQuoted(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(root, "run.sh"), "rm -rf MARK\nfind . -exec rm MARK ';'\n$MARK x\n")
	write(filepath.Join(root, "broken.sh"), "MARK=$( rm MARK\n")
	write(filepath.Join(root, ".env"), "MARK=word\nrm MARK\n")
	write(filepath.Join(outside, "notes"), "rm MARK\n")
	if err := os.Symlink(filepath.Join(outside, "notes"), filepath.Join(root, "link.sh")); err != nil {
		t.Fatal(err)
	}
	rules, err := permission.ParseJSON([]byte(`{"shell_exec": {"*": "allow", "rm *": "deny"}, "read_file": {"*": "allow", ".env": "deny"}}`), "rules", nil)
	if err != nil {
		t.Fatal(err)
	}
	layers := &permission.Layers{Static: rules}
	for command, want := range map[string]permission.Action{
		"bash run.sh":    permission.Deny,
		"sh ./run.sh":    permission.Deny,
		"bash broken.sh": permission.Ask,
		"bash .env":      permission.Deny,
		"bash link.sh":   permission.Ask,
		"env bash " + filepath.Join(outside, "notes"): permission.Ask,
		"sh /proc/self/environ":                       permission.Ask,
	} {
		values, err := Values(permission.Workspace{Root: root}, "shell_exec", command)
		if err != nil {
			t.Fatal(err)
		}
		e := layers.Explain(values)
		if e.Decision.Action < want || e.Decision.Action == permission.Allow {
			t.Errorf("%s: %v, want %v", command, e.Decision.Action, want)
		}
		shown := e.Decision.Reason()
		for _, v := range e.Values {
			shown += v.Decision.Reason() + v.Value.Text + v.Value.Written + v.Value.With + v.Value.Why
		}
		if strings.Contains(shown, "MARK") {
			t.Errorf("%s quotes the file: %s", command, shown)
		}
	}
}

package hookconfig_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentworker/worker/internal/hookconfig"
)

// TestScripts: the scripts of a hook are found in the forms in which commands name them.
func TestScripts(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"tools/rel.sh", "tools/q.sh", "tools/guard.py", "tools/esc aped.sh", "tools/noext.sh", "top.sh", "hook.log", "sub/in.js"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for command, want := range map[string][]string{
		`cd "$CLAUDE_PROJECT_DIR/tools" && sh ./rel.sh`:  {"tools/rel.sh"},
		`sh ${CLAUDE_PROJECT_DIR:?}/tools/q.sh`:          {"tools/q.sh"},
		`"$CLAUDE_PROJECT_DIR"/tools/q.sh`:               {"tools/q.sh"},
		`sh tools/g*.py`:                                 {"tools/guard.py"},
		`sh tools/esc\ aped.sh`:                          {"tools/esc aped.sh"},
		`sh "tools/esc aped.sh"`:                         {"tools/esc aped.sh"},
		`python3 -m tools.guard`:                         {"tools/guard.py"},
		`f() { sh "$1.sh"; }; f tools/noext`:             {"tools/noext.sh", "top.sh"},
		`sh $(git rev-parse --show-toplevel)/top.sh`:     {"top.sh"},
		`bash -c 'sh top.sh'`:                            {"top.sh"},
		`jq -r .tool_name >> hook.log`:                   nil,
		`tee -a hook.log`:                                nil,
		`sh top.sh | tee hook.log; cat hook.log`:         {"hook.log", "top.sh"},
		`node sub/in.js "$(cat)"`:                        {"sub/in.js"},
		`echo '{"decision": "block"}'`:                   nil,
		`if [ -x tools/q.sh ]; then exec tools/q.sh; fi`: {"tools/q.sh"},
		"cat <<EOF | sh\nsh top.sh\nEOF":                 {"top.sh"},
	} {
		h := &hookconfig.Hook{Command: command}
		var got []string
		for _, path := range h.Scripts(root) {
			rel, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rel)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

package shell_test

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/shell"
)

// TestScripts: the files that a command line runs are found as far as they are certain.
func TestScripts(t *testing.T) {
	root := t.TempDir()
	for command, want := range map[string]string{
		"bash x.sh":                     "x.sh",
		"bash -eu -o pipefail ./x.sh a": "x.sh",
		"./build && sh 'a b.sh'":        "build a b.sh",
		"A=1 env B=2 python -W x t.py":  "t.py",
		"source lib.sh; . other.sh":     "lib.sh other.sh",
		"sudo -u me nohup ./run":        "run",
		"if true; then (node a.js); fi": "a.js",
		"x=$(ruby gen.rb) && echo done": "gen.rb",
		"bun run tool.ts":               "run tool.ts",
		"cd sub && ./go.sh":             "sub/go.sh",
		"F=x.sh; bash $F":               "x.sh",
		"bash -c './inner.sh'":          "inner.sh",
		"find . -exec ./each {} ;":      "each",
		"bash $FILE":                    "",
		"cat x.sh":                      "",
		"ls 'unclosed":                  "",
	} {
		got := strings.ReplaceAll(strings.Join(shell.Scripts(permission.Workspace{Root: root}, command), " "), root+"/", "")
		if got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

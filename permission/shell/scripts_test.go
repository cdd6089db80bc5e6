package shell_test

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/permission/shell"
)

func TestScripts(t *testing.T) {
	for command, want := range map[string]string{
		"bash x.sh":                     "x.sh",
		"bash -eu -o pipefail ./x.sh a": "./x.sh",
		"./build && sh 'a b.sh'":        "./build a b.sh",
		"A=1 env B=2 python -W x t.py":  "t.py",
		"source lib.sh; . other.sh":     "lib.sh other.sh",
		"sudo -u me nohup ./run":        "./run",
		"if true; then (node a.js); fi": "a.js",
		"x=$(ruby gen.rb) && echo done": "gen.rb",
		"bun run tool.ts":               "run tool.ts",
		"bash -c 'echo x.sh'":           "",
		"bash $FILE":                    "",
		"cat x.sh":                      "",
		"ls 'unclosed":                  "",
	} {
		if got := strings.Join(shell.Scripts(command), " "); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

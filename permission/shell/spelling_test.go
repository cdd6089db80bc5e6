package shell_test

import (
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/shell"
)

// TestSpellingUnderDenyAll: where everything is denied but some commands, those
// are allowed with any flags; a rule that names a command still denies each way
// to write it.
func TestSpellingUnderDenyAll(t *testing.T) {
	const rules = `{
		"*": "deny",
		"shell_exec": {"git *": "deny", "git log": "allow", "git log *": "allow", "ls *": "allow", "rm *": "allow", "rm -rf *": "deny"}
	}`
	tests := map[string]permission.Action{
		"git log -p":            permission.Allow,
		"git log --oneline -5":  permission.Allow,
		"git log -n 3 --stat":   permission.Allow,
		"ls src -la":            permission.Allow,
		"ls *.none":             permission.Allow,
		"rm x":                  permission.Allow,
		"rm -fr x":              permission.Deny,
		"rm -r -f x":            permission.Deny,
		"rm --recursive -f x":   permission.Deny,
		"rm x -rf":              permission.Deny,
		"/bin/rm -rf x":         permission.Deny,
		"git push":              permission.Deny,
		"git -C . log":          permission.Deny,
		"git log -p; cat x":     permission.Deny,
		"git log $(git push)":   permission.Deny,
		"/bin/ls src":           permission.Deny,
		"xargs git log -p < ls": permission.Deny,
	}
	set, err := permission.ParseJSON([]byte(rules), "rules", nil)
	if err != nil {
		t.Fatal(err)
	}
	ws := permission.Workspace{Root: t.TempDir()}
	for command, want := range tests {
		values, err := shell.Values(ws, "shell_exec", command)
		if err != nil {
			t.Errorf("%s: %v", command, err)
			continue
		}
		var commands []permission.Value
		for _, v := range values {
			if v.Tool == "shell_exec" { // what it does to files is decided by their rules
				commands = append(commands, v)
			}
		}
		layers := permission.Layers{Agents: []*permission.Ruleset{set}, Runtime: permission.MustRuleset()}
		if d := layers.Decide(commands); d.Action != want {
			t.Errorf("%s: %v by %v (%s), want %v", command, d.Action, d.Rule, d.Reason(), want)
		}
	}
}

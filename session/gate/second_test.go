package gate

import (
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/shell"
)

// TestSecondPerson: a call needs a second person if a rule is about it, may be about it, or if
// that is unknown. No other call does.
func TestSecondPerson(t *testing.T) {
	rules, err := permission.ParseJSON([]byte(`{"shell_exec": {"git push *": "deny", "git push origin feature/*": "allow"}, "write_file": {"prod/**": "deny"}}`), "p", nil)
	if err != nil {
		t.Fatal(err)
	}
	second := []*permission.Ruleset{rules}
	for _, tt := range []struct {
		command    string
		held, want bool
	}{
		{"git push origin main", true, true},
		{"git  push   origin main", true, true},
		{"cd x && git push origin main", true, true},
		{"git push origin feature/a", true, false},
		{"git status", true, false},
		{"$CMD push origin main", true, true},
		{"eval \"$X\"", true, true},
		{"echo x > prod/db", true, true},
		{"make", true, false},
		{"make", false, true}, // it may write what it likes
	} {
		values, err := shell.Values(permission.Workspace{Root: "/w", Home: "/h"}, "shell_exec", tt.command)
		if err != nil {
			t.Fatal(err)
		}
		rule := SecondPerson(second, tt.held, values)
		if (rule != nil) != tt.want || rule != nil && rule.Action != permission.Ask {
			t.Errorf("%s, held %v: %v, want %v", tt.command, tt.held, rule, tt.want)
		}
	}
	if SecondPerson(second, false, []permission.Value{{Tool: "write_file", Text: "test/x"}}) != nil || SecondPerson(nil, false, []permission.Value{{Tool: "x", Text: "y"}}) != nil {
		t.Error("what no rule is about takes a second person")
	}
	// Who approves a command opens no file to it that takes a second person.
	l := &Layers{Layers: permission.Layers{Static: permission.MustRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow})}, second: second}
	prod := []permission.Value{{Tool: "write_file", Text: "prod/db"}}
	if l.Strictly().Decide(prod).Action != permission.Deny || l.Decide(prod).Action != permission.Ask {
		t.Error("a command that was approved may write what takes a second person")
	}
}

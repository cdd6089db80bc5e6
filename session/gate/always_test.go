package gate

import (
	"testing"

	"github.com/agentworker/worker/permission"
)

// "Always" covers a command with and without arguments, and lifts no deny of the
// user.
func TestAlwaysRules(t *testing.T) {
	static, err := permission.ParseJSON([]byte(`{"shell_exec": {"*": "ask", "git push *": "deny"}}`), "static", nil)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := allowRules(static, nil, "shell_exec", []string{"git *"})
	if err != nil {
		t.Fatal(err)
	}
	l := permission.Layers{Static: static, Runtime: permission.MustRuleset(rules...)}
	for text, want := range map[string]permission.Action{
		"git log": permission.Allow, "git": permission.Allow, "git push origin": permission.Deny, "go test": permission.Ask,
	} {
		if d := l.Decide([]permission.Value{{Tool: "shell_exec", Text: text}}); d.Action != want {
			t.Errorf("%s: got %v, want %v", text, d.Action, want)
		}
	}
}

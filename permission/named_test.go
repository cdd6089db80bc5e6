package permission_test

import (
	"testing"

	"github.com/agentworker/worker/permission"
)

// TestWithholds: what needs no call is withheld where a call would be denied or asked about, but
// not for a rule that denies all tools.
func TestWithholds(t *testing.T) {
	parse := func(text string) *permission.Ruleset {
		r, err := permission.ParseJSON([]byte(text), "test", nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, tt := range []struct {
		agent, static, path string
		withheld            bool
	}{
		{`{}`, `{}`, "docs/a.md", false},
		{`{"*": "deny"}`, `{}`, "docs/a.md", false},
		{`{}`, `{}`, ".env", true},
		{`{"*": "deny"}`, `{}`, ".env", true},
		{`{"read_file": "allow"}`, `{}`, ".env", true}, // no file lifts a default
		{`{}`, `{"read_file": {".env": "allow"}}`, ".env", false},
		{`{"read_file": "ask"}`, `{}`, "docs/a.md", true},
		{`{"read_file": "ask"}`, `{"read_file": "allow"}`, "docs/a.md", false},
		{`{"read_file": {"docs/**": "deny"}}`, `{"read_file": "allow"}`, "docs/a.md", true},
		{`{}`, `{"read_file": {"docs/**": "deny"}}`, "docs/a.md", true},
		{`{}`, `{"*": "ask"}`, "docs/a.md", true},
	} {
		l := &permission.Layers{Agents: []*permission.Ruleset{parse(tt.agent)}, Static: parse(tt.static), Defaults: permission.Defaults()}
		got := l.Withholds([]permission.Value{{Tool: "read_file", Text: tt.path, Abs: "/w/" + tt.path}})
		if (got != nil) != tt.withheld {
			t.Errorf("agent %s, static %s: %s is withheld by %v, want %v", tt.agent, tt.static, tt.path, got, tt.withheld)
		}
	}
}

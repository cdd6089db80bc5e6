package toolset

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/tool"
)

// specOnly is a tool that is never called.
type specOnly tool.Spec

func (s specOnly) Spec() tool.Spec                                      { return tool.Spec(s) }
func (s specOnly) Values(json.RawMessage) ([]permission.Value, error)   { panic("not called") }
func (s specOnly) Describe(*tool.Call) tool.Description                 { panic("not called") }
func (s specOnly) Run(context.Context, *tool.Call) (tool.Result, error) { panic("not called") }

// TestTrained holds who is offered a tool that has no rules of its own, and that only some models
// are trained to call.
func TestTrained(t *testing.T) {
	set, err := New(specOnly{Name: "write_file"}, specOnly{Name: "edit_file"}, specOnly{Name: "apply_patch", RuledBy: []string{"write_file", "edit_file"}, Trained: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rules   string
		trained bool
		allowed []string
		want    bool
	}{
		{`{"*": "allow"}`, true, nil, true},
		{`{"*": "allow"}`, false, nil, false},
		{`{"*": "deny", "write_file": "allow", "edit_file": "allow"}`, true, nil, true},
		{`{"*": "deny", "write_file": "allow", "edit_file": "allow"}`, false, nil, false},
		{`{"*": "deny", "write_file": "allow", "edit_file": "allow", "apply_patch": "allow"}`, false, nil, true},
		{`{"*": "allow", "edit_file": "deny"}`, true, nil, false},
		{`{"*": "allow", "write_file": "deny", "apply_patch": "allow"}`, true, nil, false},
		{`{"*": "allow", "apply_patch": "deny"}`, true, nil, false},
		{`{"*": "allow", "apply_patch": {"*": "deny", "docs/**": "allow"}}`, true, nil, true},
		{`{"*": "allow"}`, true, []string{"write_file", "edit_file"}, true},
		{`{"*": "allow"}`, true, []string{"edit_file"}, false},
		{`{"*": "allow"}`, true, []string{"apply_patch"}, false},
	} {
		rules, err := permission.ParseJSON([]byte(c.rules), "a.md", nil)
		if err != nil {
			t.Fatal(err)
		}
		got := false
		for _, spec := range set.Only(c.allowed).Offered([]*permission.Ruleset{rules}, c.trained) {
			got = got || spec.Name == "apply_patch"
		}
		if got != c.want {
			t.Errorf("%s, trained %v, of %q: offered %v, want %v", c.rules, c.trained, c.allowed, got, c.want)
		}
		layers := &gate.Layers{Layers: permission.Layers{Agents: []*permission.Ruleset{rules}}}
		if barred := Barred(layers, set.Get("apply_patch").Spec()) != ""; c.want && barred {
			t.Errorf("%s: it is offered, and calls are refused", c.rules)
		}
	}
	for _, set := range []permission.Layers{{Static: permission.MustRuleset(permission.Rule{Tool: "apply_patch", Pattern: "*", Action: permission.Deny})},
		{Policies: []*permission.Ruleset{permission.MustRuleset(permission.Rule{Tool: "apply_patch", Pattern: "*", Action: permission.Deny})}}} {
		layers := &gate.Layers{Layers: set}
		if got := Barred(layers, tool.Spec{Name: "apply_patch", RuledBy: []string{"write_file"}}); got != "apply_patch" {
			t.Errorf("a rule of a person or a policy denies apply_patch by name: barred by %q", got)
		}
	}
	if err := set.CheckAllowed([]string{"apply_patch"}); err == nil || err.Error() != "apply_patch comes with write_file and edit_file: name that instead" {
		t.Errorf("%v", err)
	}
	if got := set.Names(); !slices.Contains(got, "apply_patch") {
		t.Errorf("%q", got)
	}
}

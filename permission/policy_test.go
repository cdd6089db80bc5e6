package permission

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever agents, users and answers allow, the outcome is never looser than the policy's
// with everything else allowed; and a policy makes no outcome looser.
func TestPolicyOnlyNarrows(t *testing.T) {
	everything := MustRuleset(Rule{Tool: "*", Pattern: "*", Action: Allow}, Rule{Tool: "*", Pattern: "/**", Action: Allow})
	rapid.Check(t, func(t *rapid.T) {
		l, values := genLayers.Draw(t, "layers"), genValues.Draw(t, "values")
		got := l.Decide(values)
		most := (&Layers{Policies: l.Policies, Static: everything, Held: l.Held}).Decide(values).Action
		without := l
		without.Policies = nil
		if got.Action < most || got.Action < without.Decide(values).Action {
			t.Fatalf("%v; the policy alone %v, without it %v", got.Action, most, without.Decide(values).Action)
		}
		if e := l.Explain(values); e.Decision.Action != got.Action {
			t.Fatalf("explained as %v, decided %v", e.Decision.Action, got.Action)
		}
		// A rule of the policy that allows grants nothing.
		allows := l
		allows.Policies = append(allows.Policies[:len(l.Policies):len(l.Policies)], everything)
		if after := allows.Decide(values).Action; after != got.Action {
			t.Fatalf("an allow in the policy made %v %v", got.Action, after)
		}
	})
}

func TestPolicySays(t *testing.T) {
	policy := rules(t, `{"x": {"*": "ask", "no": "deny", "yes": "allow"}, "off": "deny"}`)
	l := Layers{Policies: []*Ruleset{policy, rules(t, `{"x": {"never": "deny"}}`)}, Static: rules(t, `{"*": "allow"}`), Runtime: rules(t, `{"*": "allow"}`)}
	for text, want := range map[string]Action{"any": Ask, "no": Deny, "yes": Allow, "never": Deny} {
		if d := l.Decide([]Value{{Tool: "x", Text: text}}); d.Action != want || want != Allow && d.Layer != LayerPolicy {
			t.Errorf("%s: %v by %s, want %v", text, d.Action, d.Layer, want)
		} else if want == Deny && !strings.Contains(d.Reason(), "policy") {
			t.Error(d.Reason())
		}
	}
	if !l.DeniesAll("off") || l.DeniesAll("x") || len(l.All()) != 6 {
		t.Error("what it denies as a whole is not known")
	}
}

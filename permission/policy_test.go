package permission

import (
	"slices"
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

// TestPersonal: where a policy or settings ask about a value by itself, the whole call's question
// is one that only a person answers, in any order of the values. The same holds where a rule
// denies what the call may want.
func TestPersonal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, values := genLayers.Draw(t, "layers"), genValues.Draw(t, "values")
		l.Settings = []*Ruleset{genSet.Draw(t, "settings")}
		d, want, narrows := l.Decide(values), false, false
		for i := range values {
			one := l.Decide(values[i : i+1])
			narrows = narrows || one.Action == d.Action && one.Layer.Narrows()
			want = want || one.Action == Ask && (one.Layer.Narrows() || one.Rule != nil && one.Rule.Action == Deny)
		}
		if d.Personal != (want && d.Action == Ask) || d.Layer.Narrows() != narrows {
			t.Fatalf("%+v, want personal %v, of a policy or settings %v", d, want, narrows)
		}
		slices.Reverse(values)
		if other := l.Decide(values); other.Action != d.Action || other.Personal != d.Personal || other.Layer.Narrows() != narrows {
			t.Fatalf("%+v, in the other order %+v", d, other)
		}
		if e := l.Explain(values).Decision; e != l.Decide(values) {
			t.Fatalf("explained as %+v, decided %+v", e, l.Decide(values))
		}
	})
}

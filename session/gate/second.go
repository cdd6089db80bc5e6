package gate

import (
	"slices"

	"github.com/agentworker/worker/permission"
)

// SecondPerson returns the rule of the policy that demands a second person for a call of these
// values: approval by somebody who has not asked for the work. nil means no rule does. Rules
// also apply to the unknown parts of a call.
func (l *Layers) SecondPerson(values []permission.Value) *permission.Rule {
	return SecondPerson(l.second, l.Held, values)
}

// SecondPerson is [Layers.SecondPerson] for these rules of a policy. held is as in
// [permission.Layers].
func SecondPerson(second []*permission.Ruleset, held bool, values []permission.Value) *permission.Rule {
	if len(second) == 0 {
		return nil
	}
	strict := permission.Layers{Policies: second, Held: held}
	for _, e := range strict.Explain(values).Values {
		if e.Decision.Layer == permission.LayerPolicy {
			return asked(e.Decision.Rule)
		}
		if e.Value.Certainty != permission.Unknown || e.Value.OnlyDenies() {
			continue
		}
		for _, rules := range second {
			if rule := denies(rules, e.Value.Tool); rule != nil {
				return asked(rule)
			}
		}
	}
	return nil
}

// denies returns a rule that denies some value of a tool; nil means there is none.
func denies(rules *permission.Ruleset, tool string) *permission.Rule {
	if !rules.DeniesSome(tool) {
		return nil
	}
	for rule := range rules.Rules() {
		one, err := permission.NewRuleset(rule)
		if err == nil && one.DeniesSome(tool) {
			return &rule
		}
	}
	return nil
}

// asked is a rule in the form that the policy has.
func asked(rule *permission.Rule) *permission.Rule {
	r := *rule
	r.Action = permission.Ask
	return &r
}

// Strictly returns layers for a tool whose call no second person has approved. They deny what
// only such a person may approve, also to programs that the call starts.
func (l *Layers) Strictly() *permission.Layers {
	if len(l.second) == 0 {
		return &l.Layers
	}
	strict := l.Layers
	strict.Policies = slices.Concat(l.Policies, l.second)
	return &strict
}

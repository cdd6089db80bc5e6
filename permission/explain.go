package permission

import "fmt"

// Explanation is a decision together with everything that led to it.
type Explanation struct {
	Decision Decision // what [Layers.Decide] says of the same values
	Values   []ValueExplanation
}

// ValueExplanation says what became of one value of a call.
type ValueExplanation struct {
	Value Value

	// Decision is about the value by itself. The zero Action: it has no say,
	// since it can only deny and nothing denies it.
	Decision Decision

	// Matches are the rules about the value, in the order in which they are
	// compared: of each layer the last one counts.
	Matches []Match
}

// Match is a rule that is about a value.
type Match struct {
	Layer Layer
	Agent int // the index of the ruleset in [Layers.Agents], [Layers.Policies] or [Layers.Settings], for a rule of these
	Rule  Rule
	Wins  bool // it decided on the value
}

// Explain decides about the values of one call as [Layers.Decide] does, and keeps what
// led to the decision. Every value is decided about, also after one that is denied.
func (l *Layers) Explain(values []Value) Explanation {
	e := Explanation{Values: make([]ValueExplanation, 0, len(values))}
	e.Decision = l.decideAll(values, func(v *Value, d Decision) {
		d.Value = values[len(e.Values)]
		explained := ValueExplanation{Value: d.Value, Decision: d}
		if d.Value.script == nil { // else the rules that match tell what the script holds
			explained.Matches = l.matches(v, d.Rule)
		}
		e.Values = append(e.Values, explained)
	})
	return e
}

// matches returns the rules about v. The one that winner points to wins.
func (l *Layers) matches(v *Value, winner *Rule) []Match {
	if v = l.effective(v); v == nil {
		return nil
	}
	var all []Match
	add := func(layer Layer, agent int, r *Ruleset) {
		for _, c := range r.of(v.Tool) {
			about := c.matches(v) && c.means(v)
			if v.OnlyDenies() && v.Certainty == Unknown {
				about = c.Action == Deny && c.mayMatch(v)
			}
			if about {
				all = append(all, Match{Layer: layer, Agent: agent, Rule: c.Rule, Wins: &c.Rule == winner})
			}
		}
	}
	for i, r := range l.Policies {
		add(LayerPolicy, i, r)
	}
	for i, r := range l.Settings {
		add(LayerSettings, i, r)
	}
	for i, r := range l.Agents {
		add(LayerAgent, i, r)
	}
	for _, r := range l.Granted {
		add(LayerRepository, 0, r)
	}
	add(LayerDefault, 0, l.Defaults)
	add(LayerRepository, 0, l.Repository)
	add(LayerStatic, 0, l.Static)
	add(LayerRuntime, 0, l.Runtime)
	return all
}

// Reason says for the model why the decision is what it is: the tool, the
// value, and the rule that decided with the place it is written at.
func (d Decision) Reason() string {
	what := fmt.Sprintf("%s %q", d.Value.Tool, d.Value.Text)
	switch d.Value.Tool {
	case "":
		what = "the call"
	case d.Value.Text: // all its calls
		what = d.Value.Tool
	}
	verdict := map[Action]string{Allow: "allowed", Ask: "asked about", Deny: "denied"}[d.Action]
	switch {
	case d.Value.unknownFile() && d.Value.Text == "" && d.Action == Ask:
		return fmt.Sprintf("What the call may want of %s cannot be known before it runs, and the rule %v (%s) denies some of it.", d.Value.Tool, *d.Rule, d.Rule.Source)
	case d.Value.Certainty == Unknown && d.Action == Ask:
		reason := fmt.Sprintf("What %s does cannot be known before it runs", what)
		if d.Value.Why != "" {
			reason += ": " + d.Value.Why
		}
		if d.Rule != nil && d.Rule.Action == Deny {
			return fmt.Sprintf("%s. The rule %v (%s) might deny it.", reason, *d.Rule, d.Rule.Source)
		}
		return reason + "."
	case d.Value.Certainty == Possible && d.Action == Ask && d.Rule != nil && d.Rule.Action == Deny:
		return fmt.Sprintf("The call may want %s, which the rule %v (%s) denies, so it is asked about.", what, *d.Rule, d.Rule.Source)
	case d.Value.Kind == Outside && d.Action == Ask && d.Rule == nil:
		return fmt.Sprintf("%s is outside the workspace, and no rule with an absolute pattern allows it, so it is asked about.", what)
	case d.Rule == nil:
		return fmt.Sprintf("No rule matches %s, so it is %s.", what, verdict)
	}
	if d.Action == Ask && d.Rule.Action == Allow && d.Value.Tool == networkTool {
		return fmt.Sprintf("%s is of this machine or its network, which the rule %v (%s) does not name, so it is asked about.", what, *d.Rule, d.Rule.Source)
	}
	reason := fmt.Sprintf("%s is %s by the rule %v", what, verdict, *d.Rule)
	if s := d.Rule.Source.String(); s != "" {
		reason += " (" + s + ")"
	}
	reason += "."
	switch {
	case d.Action == Deny && d.Rule.Note != "":
		reason += " " + d.Rule.Note
	case d.Action == Deny && d.Caller:
		reason += " It is a rule of the agent's caller, which holds for those that it calls: nobody can approve the call."
	case d.Action == Deny && d.Layer == LayerAgent:
		reason += " It is a rule of the agent: nobody can approve the call."
	case d.Action == Deny && d.Layer == LayerDefault:
		reason += " It is a default, which a rule in permissions.jsonc lifts."
	case d.Action == Deny && d.Layer == LayerPolicy:
		reason += " It is a rule of the policy of this machine: nobody can approve the call."
	case d.Action == Deny && d.Layer == LayerSettings:
		reason += " It is a rule in the settings of another program: nobody can approve the call."
	}
	return reason
}

package permission

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

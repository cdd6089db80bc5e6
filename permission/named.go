package permission

import "slices"

// Forbids returns the rule that denies one of the values and speaks of its tool; nil means
// there is none. A rule for all tools at once counts only in a policy: it says which tools an
// agent has, and not what becomes of things that need no tool.
func (l *Layers) Forbids(values []Value) *Rule {
	for i := range values {
		v := &values[i]
		for _, r := range l.narrowing() {
			if c := r.last(v); c != nil && c.Action == Deny {
				return &c.Rule
			}
		}
		for _, r := range l.Agents {
			if c := r.lastNaming(v); c != nil && c.Action == Deny {
				return &c.Rule
			}
		}
		for _, r := range []*Ruleset{l.Runtime, l.Static, l.Repository, l.Defaults} {
			c := r.lastNaming(v)
			if c == nil || r == l.Repository && !l.Trusted && c.Action != Deny {
				continue
			}
			if c.Action == Deny {
				return &c.Rule
			}
			break
		}
	}
	return nil
}

// Withholds is Forbids, and also counts rules that ask: without a call, nobody can be asked.
func (l *Layers) Withholds(values []Value) *Rule {
	if r := l.Forbids(values); r != nil {
		return r
	}
	for i := range values {
		v := &values[i]
		if v.OnlyDenies() {
			continue
		}
		for _, r := range l.narrowing() {
			if c := r.last(v); c != nil && c.Action == Ask {
				return &c.Rule
			}
		}
		var asks *Rule
		for _, r := range slices.Concat([]*Ruleset{l.Defaults}, l.Agents, []*Ruleset{l.Repository, l.Static, l.Runtime}) {
			switch c := r.lastNaming(v); {
			case c == nil:
			case c.Action == Ask:
				asks = &c.Rule
			case r == l.Runtime || r == l.Static || r == l.Repository && l.Trusted: // an agent's rule lifts no default
				asks = nil
			}
		}
		if asks != nil {
			return asks
		}
	}
	return nil
}

// lastNaming is last without the rules that deny all tools at once.
func (r *Ruleset) lastNaming(v *Value) *compiled {
	for _, c := range slices.Backward(r.of(v.Tool)) {
		if c.Action == Deny && c.tool.MatchesAll() {
			continue
		}
		if c.matches(v) && (c.Action != Deny || c.means(v)) {
			return c
		}
	}
	return nil
}

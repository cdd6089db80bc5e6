package permission

import (
	"iter"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/hostport"
)

// Layer names the place a decision comes from.
type Layer string

// The layers. LayerDefault: a default, or no rule matched.
const (
	LayerPolicy     Layer = "policy"
	LayerSettings   Layer = "settings" // of other programs
	LayerAgent      Layer = "agent"
	LayerRepository Layer = "repository"
	LayerStatic     Layer = "static"
	LayerRuntime    Layer = "runtime"
	LayerDefault    Layer = "default"
	LayerHook       Layer = "hook" // a hook has decided, and no rule
)

// Layers holds the rules that decide about the calls of one session.
type Layers struct {
	// Policies are the rulesets of an administrator. Each is decided by itself,
	// before all others, and only narrows. What one denies is denied. What one
	// asks about is at least asked about. What one allows is left to the other
	// layers.
	Policies []*Ruleset

	// Settings are the rulesets in the settings of other programs. They are decided like
	// Policies.
	Settings []*Ruleset

	// Granted are rules that allow, in settings of other programs which a person trusts. They
	// answer what all below the policies would ask, and lift no deny.
	Granted []*Ruleset

	// Agents are the rulesets of the session and of those it descends from:
	// the root's first, its own last. The most restrictive counts, so nothing
	// below can give back what one above has denied. nil entries are skipped;
	// empty means the agent layer is left out.
	Agents []*Ruleset

	// Callers is how many of Agents, from the first, are those of sessions above.
	Callers int

	// Repository are the rules in the repository itself. Trusted says that a person
	// has accepted them: then they count like Static ones, before these. Else they
	// only narrow: what they allow does not count.
	Repository *Ruleset
	Trusted    bool

	Static  *Ruleset // permissions.jsonc, and what a person has said at the start of the process
	Runtime *Ruleset // "always" answers of this session

	// Defaults decide where no rule in Static and Runtime matches: then the stricter of
	// the default and the agents' rules counts. nil means that only the agents' rules do.
	Defaults *Ruleset

	// Held says that a sandbox holds commands to the file rules: what a command
	// may open beyond its redirections and plain operands is not asked about.
	Held bool
}

// Narrows reports whether the rules of a layer only narrow: they grant nothing, and nobody's
// answer lifts what they deny.
func (l Layer) Narrows() bool { return l == LayerPolicy || l == LayerSettings }

// narrowing yields the rulesets that only narrow, with their layer.
func (l *Layers) narrowing() iter.Seq2[Layer, *Ruleset] {
	return func(yield func(Layer, *Ruleset) bool) {
		for _, r := range l.Policies {
			if !yield(LayerPolicy, r) {
				return
			}
		}
		for _, r := range l.Settings {
			if !yield(LayerSettings, r) {
				return
			}
		}
	}
}

// All returns the rulesets of all layers, in the order in which they decide.
func (l *Layers) All() []*Ruleset {
	return slices.Concat(l.Policies, l.Settings, l.Granted, l.Agents, []*Ruleset{l.Defaults, l.Repository, l.Static, l.Runtime})
}

// DeniesAll reports whether a policy or an agent's ruleset denies every value of the tool.
func (l *Layers) DeniesAll(tool string) bool {
	denies := func(r *Ruleset) bool { return r.DeniesAll(tool) }
	return slices.ContainsFunc(l.Policies, denies) || slices.ContainsFunc(l.Settings, denies) || slices.ContainsFunc(l.Agents, denies)
}

// Decision is the answer to a call.
type Decision struct {
	Action Action
	Layer  Layer
	Rule   *Rule // the rule that decided; nil if no rule matched
	Value  Value // the value that decided
	Caller bool  // the rule is one of [Layers.Callers]

	// Personal says that only a person answers the question: neither a hook nor a reviewer does. A rule that only narrows asks about some value of the call, or a rule denies
	// what the call may want.
	Personal bool
}

// Decide decides about the values of one call.
//
// First come the policies, then the agent layer, each ruleset by itself. If the
// last matching rule in one of them denies a value, it is denied, and nothing
// changes that. Then come the runtime, the static and the trusted rules of the
// repository, in this order: what a person has said. Where none of them matches, the
// most restrictive of the agents' rules, the repository's and the default
// decides; no match is Ask. Where that asks, a rule of Granted which allows the value
// answers, but no question of the repository's rules.
//
// Of all values the most restrictive outcome wins. Of equals one of a policy or of
// settings does, else the first.
//
// A call without values is asked about.
func (l *Layers) Decide(values []Value) Decision {
	return l.decideAll(values, nil)
}

// decideAll is [Layers.Decide]. It tells each, if it is not nil, what became of
// every value by itself, and then decides about all of them.
func (l *Layers) decideAll(values []Value, each func(v *Value, d Decision)) Decision {
	worst, personal := Decision{}, false
	for i := range values {
		v := &values[i]
		if v.script != nil {
			w := *v
			if w.Text = v.matched; l.Decide(v.script.reads).Action == Deny {
				w = Value{Tool: v.Tool, Text: "*", Certainty: Unknown} // it is not looked at
			}
			v = &w
		}
		v = v.normalised()
		d := l.decide(v)
		if each != nil {
			each(v, d)
		}
		personal = personal || d.personal()
		if d.Action > worst.Action || d.Action == worst.Action && d.Layer.Narrows() && !worst.Layer.Narrows() {
			d.Value = values[i]
			worst = d
			if each == nil && d.final() {
				break
			}
		}
	}
	worst.Personal = personal && worst.Action == Ask
	if worst.Action == 0 {
		worst = Decision{Action: Ask, Layer: LayerDefault}
		if len(values) > 0 {
			worst.Value = values[0]
		}
	}
	return worst
}

// final reports whether nothing can change the decision: no other value or layer, and nobody's
// answer.
func (d Decision) final() bool { return d.Action == Deny && d.Layer.Narrows() }

// personal reports whether the decision on one value is a question that only a person answers.
func (d Decision) personal() bool {
	return d.Action == Ask && (d.Layer.Narrows() || d.Rule != nil && d.Rule.Action == Deny)
}

// decide decides about one value. The zero Decision: it has no say.
func (l *Layers) decide(v *Value) Decision {
	if v = l.effective(v); v == nil {
		return Decision{}
	}
	if v.OnlyDenies() && v.Certainty == Unknown {
		return l.suspect(v)
	}
	d := l.decideCertain(v)
	switch {
	case v.Certainty == Possible && d.Action == Deny, d.Action == Allow && l.ofThisMachine(v, d.Rule):
		d.Action = Ask
	}
	return d
}

// ofThisMachine reports whether v is a host of this machine or its network, or a socket, and the
// rule does not name it. A rule for every host does not mean them.
func (l *Layers) ofThisMachine(v *Value, rule *Rule) bool {
	return v.Tool == networkTool && !v.OnlyDenies() && v.Text != "*" && !strings.Contains(v.Text, anyText) &&
		hostport.Internal(v.Text) && (rule == nil || !hostport.Names(rule.Pattern, v.Text))
}

// effective returns the value to decide about instead of v; nil means that v
// has no say. Where a sandbox holds the call, an unknown file only asks whether
// the call may have any.
func (l *Layers) effective(v *Value) *Value {
	switch {
	case !l.Held || !v.unknownFile():
		return v
	case v.Kind == Outside:
		return &Value{Tool: v.Tool, Text: "*"}
	}
	return nil
}

// decideCertain decides about a value that the call does want.
func (l *Layers) decideCertain(v *Value) Decision {
	policy := l.policy(v)
	if policy.Action == Deny {
		return policy
	}
	for i, a := range l.Agents {
		if c := a.last(v); c != nil && c.Action == Deny {
			return Decision{Action: Deny, Layer: LayerAgent, Rule: &c.Rule, Caller: i < l.Callers}
		}
	}
	d := l.combined(v)
	if policy.Action >= d.Action { // of equals the one that nobody's rule can lift
		d = policy
	}
	switch {
	case v.OnlyDenies() && d.Action != Deny:
		return Decision{}
	case v.Certainty == Unknown && d.Action < Ask:
		return Decision{Action: Ask, Layer: LayerDefault}
	}
	return d
}

// policy is what the policies and the settings of other programs say of v: the most restrictive of them, and nothing where
// they ask or deny nothing.
func (l *Layers) policy(v *Value) Decision {
	worst := Decision{}
	for layer, p := range l.narrowing() {
		if c := p.last(v); c != nil && c.Action > max(Allow, worst.Action) {
			worst = c.decision(v, layer)
		}
	}
	return worst
}

// combined decides about v by what people have said, else by the agents' rules and the
// defaults.
func (l *Layers) combined(v *Value) Decision {
	if c := l.Runtime.last(v); c != nil {
		return c.decision(v, LayerRuntime)
	}
	if c := l.Static.last(v); c != nil {
		return c.decision(v, LayerStatic)
	}
	repository := Decision{}
	if c := l.Repository.last(v); c != nil {
		if repository = c.decision(v, LayerRepository); l.Trusted {
			return repository
		}
	}
	d := l.unsaid(v)
	if d.Action == Ask {
		d = l.granted(v, d)
	}
	if d.Action >= repository.Action || repository.Action == Allow {
		return d
	}
	return repository
}

// unsaid decides about v by the agents' rules and the defaults.
func (l *Layers) unsaid(v *Value) Decision {
	unsaid := Decision{Action: Ask, Layer: LayerDefault}
	worst, any := unsaid, false
	for _, a := range l.Agents {
		var d Decision
		switch c := a.last(v); {
		case c != nil:
			d = c.decision(v, LayerAgent)
		case a == nil, l.Defaults != nil: // it says nothing
			continue
		default:
			d = unsaid
		}
		if !any || d.Action > worst.Action {
			worst, any = d, true
		}
	}
	if l.Defaults == nil {
		return worst
	}
	if c := l.Defaults.last(v); c != nil {
		unsaid = c.decision(v, LayerDefault)
	}
	if !any || unsaid.Action > worst.Action {
		return unsaid
	}
	return worst
}

// decision is what c, the last rule that matches v, says of it.
func (c *compiled) decision(v *Value, layer Layer) Decision {
	if !c.means(v) {
		return Decision{}
	}
	return Decision{Action: c.Action, Layer: layer, Rule: &c.Rule}
}

// means reports whether c, which matches v, speaks of it: see [Spelling] and
// [Line].
func (c *compiled) means(v *Value) bool {
	switch v.Kind {
	case Line:
		return c.line
	case Reached:
		return c.Action != Deny || !c.tool.MatchesAll()
	}
	return v.Kind != Spelling || c.Action != Deny || !c.pattern.MatchesAll()
}

// suspect decides about a value of which only the beginning is known, and which
// is there to be denied: Ask if it might be.
func (l *Layers) suspect(v *Value) Decision {
	for layer, p := range l.narrowing() {
		if c, _ := p.mayDeny(v); c != nil {
			return Decision{Action: Ask, Layer: layer, Rule: &c.Rule}
		}
	}
	for _, a := range l.Agents {
		if c, _ := a.mayDeny(v); c != nil {
			return Decision{Action: Ask, Layer: LayerAgent, Rule: &c.Rule}
		}
	}
	for _, by := range []struct {
		layer Layer
		rules *Ruleset
	}{{LayerRuntime, l.Runtime}, {LayerStatic, l.Static}, {LayerRepository, l.Repository}, {LayerDefault, l.Defaults}} {
		c, covered := by.rules.mayDeny(v)
		if c != nil {
			return Decision{Action: Ask, Layer: by.layer, Rule: &c.Rule}
		}
		if covered && (by.layer != LayerRepository || l.Trusted) {
			break
		}
	}
	return Decision{}
}

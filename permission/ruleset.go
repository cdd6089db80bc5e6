package permission

import (
	"iter"
	"slices"
	"sync"
	"sync/atomic"
)

// Ruleset is an ordered list of rules. The last one that matches counts.
// It is immutable, compiled once, and safe for concurrent use. A nil *Ruleset
// is the empty one.
type Ruleset struct {
	rules []*compiled

	// byTool holds the rules of each tool asked about so far. A call is compared
	// with no others. Bounded by maxTools.
	byTool sync.Map // string to []*compiled
	tools  atomic.Int32

	blocks  bool     // there are some, and no session was chosen
	chosen  sync.Map // Who to *Ruleset; bounded by maxTools
	choices atomic.Int32
}

// maxTools bounds how many tools a ruleset remembers the rules of.
const maxTools = 1000

// NewRuleset compiles rules. The error is a [*SyntaxError] that names the
// first rule that cannot be compiled, and why.
func NewRuleset(rules ...Rule) (*Ruleset, error) {
	r := &Ruleset{rules: make([]*compiled, 0, len(rules))}
	for _, rule := range rules {
		c, err := compileRule(rule)
		if err != nil {
			return nil, err
		}
		r.rules = append(r.rules, c)
	}
	r.blocks = hasBlocks(r.rules)
	return r, nil
}

// MustRuleset is [NewRuleset] for rules that are part of the program.
func MustRuleset(rules ...Rule) *Ruleset {
	r, err := NewRuleset(rules...)
	if err != nil {
		panic(err)
	}
	return r
}

// Rules yields the rules in order.
func (r *Ruleset) Rules() iter.Seq[Rule] {
	return func(yield func(Rule) bool) {
		if r == nil {
			return
		}
		for _, c := range r.rules {
			if !yield(c.Rule) {
				return
			}
		}
	}
}

// Without returns the ruleset without the rules that drop reports.
func (r *Ruleset) Without(drop func(Rule) bool) *Ruleset {
	if r == nil || !slices.ContainsFunc(r.rules, func(c *compiled) bool { return drop(c.Rule) }) {
		return r
	}
	return &Ruleset{rules: slices.DeleteFunc(slices.Clone(r.rules), func(c *compiled) bool { return drop(c.Rule) }), blocks: r.blocks}
}

// Len returns the number of rules.
func (r *Ruleset) Len() int {
	if r == nil {
		return 0
	}
	return len(r.rules)
}

// Append returns a ruleset with more rules at the end, where they count most.
func (r *Ruleset) Append(rules ...Rule) (*Ruleset, error) {
	more, err := NewRuleset(rules...)
	if err != nil || r == nil {
		return more, err
	}
	return &Ruleset{rules: slices.Concat(r.rules, more.rules), blocks: r.blocks || more.blocks}, nil
}

// DeniesAll reports whether this ruleset by itself denies every value of the
// tool. Such a tool need not be offered.
func (r *Ruleset) DeniesAll(tool string) bool {
	for _, c := range slices.Backward(r.of(tool)) {
		switch {
		case c.Action != Deny:
			return false
		case c.pattern.MatchesAll():
			return true
		}
	}
	return false
}

// DeniesSome reports whether a rule denies some value of the tool.
func (r *Ruleset) DeniesSome(tool string) bool {
	return slices.ContainsFunc(r.of(tool), func(c *compiled) bool { return c.Action == Deny })
}

// DeniesAbsolute reports whether a rule denies some value of the tool by an
// absolute path. The worker's own rules do not count.
func (r *Ruleset) DeniesAbsolute(tool string) bool {
	return slices.ContainsFunc(r.of(tool), func(c *compiled) bool { return c.Action == Deny && c.absolute && !c.Own })
}

// of returns the rules whose tool glob the tool's name matches, in order.
func (r *Ruleset) of(tool string) []*compiled {
	if r == nil {
		return nil
	}
	if rules, ok := r.byTool.Load(tool); ok {
		return rules.([]*compiled)
	}
	var rules []*compiled
	called := names(tool)
	for _, c := range r.rules {
		if c.about(called) && !(r.blocks && c.Block != (Block{}) && c.Action != Deny) {
			rules = append(rules, c)
		}
	}
	if r.tools.Add(1) <= maxTools {
		r.byTool.Store(tool, rules)
	}
	return rules
}

// last returns the last rule about v, or nil. A deny that does not speak of v
// hides no rule before it.
func (r *Ruleset) last(v *Value) *compiled {
	rules := r.of(v.Tool)
	for i := len(rules) - 1; i >= 0; i-- {
		if c := rules[i]; c.matches(v) && (c.Action != Deny || c.means(v)) {
			return c
		}
	}
	return nil
}

// mayDeny returns a rule that may deny some value beginning with v.Text, or
// nil. covered says that a later rule decides about all values; then no earlier
// layer counts.
func (r *Ruleset) mayDeny(v *Value) (rule *compiled, covered bool) {
	rules := r.of(v.Tool)
	for i := len(rules) - 1; i >= 0; i-- {
		switch c := rules[i]; {
		case v.Kind == Spelling && c.Action == Deny && !c.means(v):
			continue
		case c.Action == Deny && c.mayMatch(v):
			return c, true
		case c.pattern.MatchesAll():
			return nil, true
		}
	}
	return nil, false
}

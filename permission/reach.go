package permission

import (
	"slices"
	"strings"
)

// Reach says what a session may do with one tool.
type Reach struct {
	// Base is the decision about a value that no pattern speaks of.
	Base Action

	// Allow, Ask and Deny are the patterns for which another decision holds, in the order of
	// the rules. Those of the built-in defaults are left out. More says that there are others.
	Allow, Ask, Deny []string
	More             bool
}

// maxReach bounds the patterns of one tool that Reach decides about.
const maxReach = 40

// Reach decides about a tool as [Layers.Decide] does: about a value that no pattern names, and
// about one example of each pattern. A pattern for which there is no example has the action of
// its rule, unless that allows.
func (l *Layers) Reach(tool string) Reach {
	r := Reach{Base: l.decideText(tool, anyText)}
	type exception struct {
		*compiled
		example string
		action  Action
	}
	var named []exception
	for _, set := range slices.Concat(l.Policies, l.Settings, l.Granted, l.Agents, []*Ruleset{l.Repository, l.Static, l.Runtime}) {
		rules := set.of(tool)
		if len(rules) > maxReach {
			rules, r.More = rules[len(rules)-maxReach:], true
		}
		for _, c := range rules {
			if c.pattern.MatchesAll() || slices.ContainsFunc(named, func(e exception) bool { return e.Pattern == c.Pattern }) {
				continue
			}
			e := exception{c, example(c.Pattern), c.Action}
			switch {
			case c.matches(&Value{Tool: tool, Text: e.example, Abs: e.example}):
				e.action = l.decideText(tool, e.example)
			case c.Action == Allow:
				continue
			}
			named = append(named, e)
		}
	}
	for _, e := range named {
		if e.action == r.Base && !slices.ContainsFunc(named, func(wide exception) bool {
			return wide.action != e.action && wide.matches(&Value{Tool: tool, Text: e.example, Abs: e.example})
		}) {
			continue // it takes nothing back
		}
		switch e.action {
		case Allow:
			r.Allow = append(r.Allow, e.Pattern)
		case Ask:
			r.Ask = append(r.Ask, e.Pattern)
		case Deny:
			r.Deny = append(r.Deny, e.Pattern)
		}
	}
	return r
}

// decideText decides about one text of a tool.
func (l *Layers) decideText(tool, text string) Action {
	v := Value{Tool: tool, Text: text}
	if strings.HasPrefix(text, "/") {
		v.Abs = text
	}
	return l.Decide([]Value{v}).Action
}

// example returns a text that a glob probably matches. A star is [anyText], so that no other
// pattern matches by chance.
func example(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); {
		rest := pattern[i:]
		switch c := pattern[i]; {
		case c == '\\' && len(rest) > 1:
			b.WriteByte(rest[1])
			i += 2
		case strings.HasPrefix(rest, "@(") || strings.HasPrefix(rest, "+("):
			text, size := firstOf(rest[1:], ')', '|')
			b.WriteString(text)
			i += 1 + size
		case strings.HasPrefix(rest, "?(") || strings.HasPrefix(rest, "*("):
			_, size := firstOf(rest[1:], ')', '|')
			i += 1 + size
		case c == '(':
			text, size := firstOf(rest, ')', '|')
			b.WriteString(text)
			i += size
		case c == '{':
			text, size := firstOf(rest, '}', ',')
			b.WriteString(text)
			i += size
		case c == '*':
			b.WriteString(anyText)
			i += len(rest) - len(strings.TrimLeft(rest, "*"))
		case c == '?':
			b.WriteString("x")
			i++
		case c == '[' && len(rest) > 1 && rest[1] != '!' && rest[1] != '^':
			b.WriteByte(rest[1])
			i += max(strings.IndexByte(rest, ']'), 0) + 1
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

// firstOf returns an example of the first alternative of a group, and the length of the group.
// A group that does not end is text.
func firstOf(group string, end, between byte) (text string, size int) {
	depth, first := 0, 0
	for i := range len(group) {
		switch c := group[i]; c {
		case '(', '{':
			depth++
		case ')', '}':
			if depth--; depth == 0 && c == end {
				if first == 0 {
					first = i
				}
				return example(group[1:first]), i + 1
			}
		case between:
			if depth == 1 && first == 0 {
				first = i
			}
		}
	}
	return group, len(group)
}

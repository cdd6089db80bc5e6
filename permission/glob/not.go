package glob

import (
	"regexp"
	"slices"
	"strings"
)

// compileNot compiles a pattern that holds !(…), exactly or not at all.
//
// As in picomatch, the group excludes what stands at its place up to the end of
// the text, if nothing follows it; else what begins there. Then any text
// follows, or text without "/".
func compileNot(seq []node) (matcher, error) {
	variants, err := withoutGroups(seq)
	if err != nil {
		return nil, err
	}
	var list anyOf
	for _, v := range variants {
		m, err := compileVariant(v)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return list, nil
}

func compileVariant(seq []node) (matcher, error) {
	i := slices.IndexFunc(seq, isNot)
	switch {
	case i < 0:
		return compileSequence(seq)
	case i == 0 && !hasNot(seq[1:]):
		return compileExclude("", seq)
	case i == 1 && seq[0].op == opLiteral && !hasNot(seq[2:]):
		return compileExclude(seq[0].text, seq[1:])
	}
	a, err := compileAutomaton(seq)
	switch {
	case err == errTooComplex:
		return nil, &Error{Offset: seq[i].at, Reason: err.Error()}
	case err != nil:
		return nil, err
	case a.acceptsAll():
		return anything{}, nil
	}
	return a, nil
}

// withoutGroups returns sequences that together mean the same as seq, and in
// which no group holds a !(…): what a !(…) excludes may reach beyond the end of
// the group that it stands in.
func withoutGroups(seq []node) ([][]node, error) {
	i := slices.IndexFunc(seq, func(n node) bool { return slices.ContainsFunc(n.alts, hasNot) })
	if i < 0 {
		return [][]node{seq}, nil
	}
	group := seq[i]
	switch {
	case group.op == opNot:
		return nil, &Error{Offset: group.at, Reason: "!(…) inside !(…); write a rule that denies instead"}
	case group.quant == "*" || group.quant == "+":
		return nil, &Error{Reason: "!(…) inside a group that is repeated; write a rule that denies instead"}
	}
	alts := group.alts
	if group.quant == "?" {
		alts = append(slices.Clone(alts), nil)
	}
	var all [][]node
	for _, alt := range alts {
		joined := slices.Clone(seq[:i])
		for _, n := range append(slices.Clone(alt), seq[i+1:]...) {
			joined = appendNode(joined, n)
		}
		variants, err := withoutGroups(joined)
		if err != nil {
			return nil, err
		}
		if all = append(all, variants...); len(all) > maxVariants {
			return nil, &Error{Reason: "too many alternatives around !(…); write a rule that denies instead"}
		}
	}
	return all, nil
}

// exclusion says what the !(…) at the front of seq means: the expression of
// what it excludes, whether that must end with the text, and the expression of
// what may stand in its place.
func exclusion(seq []node) (look string, toEnd bool, star op, err error) {
	n := seq[0]
	look = render([]node{{op: opGroup, alts: n.alts}})
	switch {
	case strings.Trim(n.tail, ")") == "":
		return look, true, opStar, nil
	case n.stars && extensionTail.MatchString(n.tail):
		if n.nested || hasNot(seq[1:]) {
			return "", false, 0, &Error{Offset: n.at, Reason: "!(…*…) before an extension, in a group; write a rule that denies instead"}
		}
		return look + render(seq[1:]), false, opStar, nil
	}
	return look, false, opNoSlash, nil
}

// extensionTail is what picomatch takes for a file's extension after !(…*…).
var extensionTail = regexp.MustCompile(`^\.[^\\/.]+$`)

// exclude matches x!(…)y, whose group stands at a place that is certain.
type exclude struct {
	lead string         // the literal before the group
	not  *regexp.Regexp // what must not stand there
	tail *regexp.Regexp // what stands in place of the group, and what follows
}

func (x exclude) matchString(s string) bool {
	rest, ok := strings.CutPrefix(halve(s), x.lead)
	return ok && !x.not.MatchString(rest) && x.tail.MatchString(rest)
}

func compileExclude(lead string, seq []node) (matcher, error) {
	look, toEnd, star, err := exclusion(seq)
	if err != nil {
		return nil, err
	}
	if toEnd {
		look += `\z`
	}
	not, err := regexp.Compile(`\A(?s:` + look + `)`)
	if err != nil {
		return nil, err
	}
	tail, err := compileExpr(append([]node{{op: star}}, seq[1:]...))
	if err != nil {
		return nil, err
	}
	return exclude{lead, not, tail}, nil
}

// compileAutomaton compiles a sequence with any number of !(…), none of them in
// a group: before · (star · after, without what is excluded).
func compileAutomaton(seq []node) (*automaton, error) {
	i := slices.IndexFunc(seq, isNot)
	if i < 0 {
		return automatonOf(render(seq), "")
	}
	look, toEnd, star, err := exclusion(seq[i:])
	if err != nil {
		return nil, err
	}
	beyond := `.*`
	if toEnd {
		beyond = ""
	}
	excluded, err := automatonOf(look, beyond)
	if err != nil {
		return nil, err
	}
	after, err := compileAutomaton(seq[i+1:])
	if err != nil {
		return nil, err
	}
	rest, err := prepend(render([]node{{op: star}}), after)
	if err != nil {
		return nil, err
	}
	if rest, err = rest.without(excluded); err != nil {
		return nil, err
	}
	return prepend(render(seq[:i]), rest)
}

// automatonOf returns the automaton of two expressions, one after the other.
func automatonOf(first, second string) (*automaton, error) {
	var n network
	start, err := n.expr(`(?:`+first+`)`+second, n.add(netState{accept: true}))
	if err != nil {
		return nil, err
	}
	return n.deterministic(start)
}

// prepend returns the automaton of an expression and then a.
func prepend(expr string, a *automaton) (*automaton, error) {
	var n network
	start, err := n.expr(expr, n.embed(a))
	if err != nil {
		return nil, err
	}
	return n.deterministic(start)
}

func isNot(n node) bool { return n.op == opNot }

func hasNot(seq []node) bool {
	return slices.ContainsFunc(seq, func(n node) bool {
		return n.op == opNot || slices.ContainsFunc(n.alts, hasNot)
	})
}

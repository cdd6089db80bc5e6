package glob

import (
	"regexp"
	"slices"
)

// compileNot compiles a pattern whose part i is a !(…): exactly, or not at
// all. What it excludes is looked for at one place, so the place must be
// certain: only plain text may stand before it.
func compileNot(seq []node, i int) (matcher, error) {
	n, rest := seq[i], seq[i+1:]
	refused := &Error{Offset: n.at, Reason: "!(…) can only follow plain text, once; write a rule that denies instead"}
	if hasNot(rest) || slices.ContainsFunc(n.alts, hasNot) || hasNot(seq[:i]) {
		return nil, refused
	}
	not := node{op: opGroup, alts: n.alts}
	if k := i - 1; k >= 0 && seq[k].op == opStar && len(rest) == 0 {
		// The star can take all, and leaves nothing for the group to exclude.
		empty, err := regexp.Compile(`\A(?s:` + render([]node{not}) + `)\z`)
		if err != nil || empty.MatchString("") {
			return nil, refused
		}
		return compileSequence(seq[:i])
	}
	lead := ""
	switch {
	case i == 1 && seq[0].op == opLiteral:
		lead = seq[0].text
	case i > 0:
		return nil, refused
	}
	tail := append([]node{{op: opRegexp, text: "[^/]*"}}, rest...)
	look := render([]node{not})
	switch {
	case n.tail == "":
		look += `\z`
		tail = []node{{op: opStar}}
	case n.stars && extensionTail.MatchString(n.tail):
		look += render(rest)
		tail[0] = node{op: opStar}
	}
	notRE, err := regexp.Compile(`\A(?s:` + look + `)`)
	if err != nil {
		return nil, err
	}
	tailRE, err := compileExpr(tail)
	if err != nil {
		return nil, err
	}
	return exclude{lead, notRE, tailRE}, nil
}

// extensionTail is what picomatch takes for a file's extension after !(…*…).
var extensionTail = regexp.MustCompile(`^\.[^\\/.]+$`)

func hasNot(seq []node) bool {
	return slices.ContainsFunc(seq, func(n node) bool {
		return n.op == opNot || slices.ContainsFunc(n.alts, hasNot)
	})
}

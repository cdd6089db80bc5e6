package glob

import (
	"regexp"
	"slices"
	"strings"

	"github.com/gobwas/glob"
)

// compileSequence picks the cheapest engine that can express the pattern.
func compileSequence(seq []node) (matcher, error) {
	if hasNot(seq) {
		return compileNot(seq)
	}
	if variants := variantsOf(seq); variants != nil {
		list := make(anyOf, len(variants))
		for i, v := range variants {
			list[i] = compileSimple(v)
		}
		if len(list) == 1 {
			return list[0], nil
		}
		return list, nil
	}
	re, err := compileExpr(seq)
	if err != nil {
		return nil, err
	}
	e := expr{re: re}
	for i, n := range seq { // what every match must hold
		if n.op != opLiteral {
			continue
		}
		switch text := unhalve(n.text); {
		case i == 0:
			e.begin = text
		case i == len(seq)-1:
			e.end = text
		case len(text) > len(e.holds):
			e.holds = text
		}
	}
	return e, nil
}

// maxVariants bounds what a pattern is expanded to.
const maxVariants = 16

// variantsOf returns patterns of literals and stars alone that together mean the
// same as seq; nil means there are none, or too many.
func variantsOf(seq []node) [][]node {
	variants := [][]node{nil}
	for i, n := range seq {
		var parts [][]node
		slash, star := node{op: opLiteral, text: "/"}, node{op: opStar}
		switch n.op {
		case opLiteral, opStar:
			parts = [][]node{{n}}
		case opFolders:
			parts = [][]node{nil, {star, slash}}
		case opMaybeSlash:
			parts = [][]node{nil, {slash}}
		case opMiddleSlash:
			parts = [][]node{{slash}, {slash, star, slash}}
		case opMiddle:
			parts = [][]node{{slash}, {slash, star, slash}}
			if !slices.ContainsFunc(seq[i+1:], func(n node) bool { return n.op != opStar }) {
				parts = append(parts, nil)
			} else if slices.ContainsFunc(seq[i+1:], func(n node) bool { return n.op != opStar && n.op != opLiteral }) {
				return nil
			}
		case opBelow:
			parts = [][]node{nil, {slash, star}}
		case opGroup:
			if n.quant != "" {
				return nil
			}
			for _, alt := range n.alts {
				sub := variantsOf(alt)
				if sub == nil {
					return nil
				}
				parts = append(parts, sub...)
			}
		default:
			return nil
		}
		if len(variants)*len(parts) > maxVariants {
			return nil
		}
		var next [][]node
		for _, v := range variants {
			for _, part := range parts {
				joined := slices.Clone(v)
				for _, n := range part {
					joined = appendNode(joined, n)
				}
				next = append(next, joined)
			}
		}
		variants = next
	}
	return variants
}

// compileSimple compiles literals and stars.
func compileSimple(seq []node) matcher {
	var shape, pattern strings.Builder
	for _, n := range seq {
		if n.op == opStar {
			shape.WriteByte('*')
			pattern.WriteByte('*')
		} else {
			shape.WriteByte('x')
			pattern.WriteString(glob.QuoteMeta(unhalve(n.text)))
		}
	}
	word := func(i int) string { return unhalve(seq[i].text) }
	switch shape.String() {
	case "":
		return literal("") // which no input is
	case "*":
		return anything{}
	case "x":
		return literal(word(0))
	case "x*":
		return prefix(word(0))
	case "*x":
		return suffix(word(1))
	case "*x*":
		return infix(word(1))
	case "x*x":
		return affix{word(0), word(2)}
	}
	return starred{glob.MustCompile(pattern.String())}
}

// unhalve undoes halve.
func unhalve(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x10D800 }) {
		return s
	}
	var b strings.Builder
	var high rune
	for _, r := range s {
		switch {
		case r >= 0x10D800 && r < 0x10DC00:
			high = r - 0x10D800
		case r >= 0x10DC00 && r < 0x10E000:
			b.WriteRune(0x10000 + high<<10 + r - 0x10DC00)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// compileExpr compiles to a regular expression, whose matching is linear.
func compileExpr(seq []node) (*regexp.Regexp, error) {
	return regexp.Compile(`\A(?s:` + render(seq) + `)\z`)
}

func render(seq []node) string {
	var b strings.Builder
	for _, n := range seq {
		switch n.op {
		case opLiteral:
			b.WriteString(regexp.QuoteMeta(n.text))
		case opStar:
			b.WriteString(`.*`)
		case opNoSlash:
			b.WriteString(`[^/]*`)
		case opSome:
			b.WriteString(`.+`)
		case opRegexp:
			b.WriteString(n.text)
		case opFolders:
			b.WriteString(`(?:.*/)?`)
		case opMiddle:
			b.WriteString(`(?:/.*/|/|\z)`)
		case opMiddleSlash:
			b.WriteString(`(?:/.*/|/)`)
		case opBelow:
			b.WriteString(`(?:/.*|\z)`)
		case opMaybeSlash:
			b.WriteString(`/?`)
		case opGroup:
			b.WriteString(`(?:`)
			for i, alt := range n.alts {
				if i > 0 {
					b.WriteByte('|')
				}
				b.WriteString(render(alt))
			}
			b.WriteString(`)` + n.quant)
		}
	}
	return b.String()
}

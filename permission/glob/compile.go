package glob

import (
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/gobwas/glob"
)

// matcher matches inputs that are neither empty nor equal to the pattern.
type matcher interface{ matchString(s string) bool }

// The matchers, from the cheapest. The last one is [search].
type (
	anything struct{} // "*", "**"
	literal  string
	prefix   string                  // x*
	suffix   string                  // *x
	starred  struct{ *glob.Pattern } // other literals and stars; without separators, so linear
	anyOf    []matcher
)

func (anything) matchString(string) bool    { return true }
func (l literal) matchString(s string) bool { return s == string(l) }
func (p prefix) matchString(s string) bool  { return strings.HasPrefix(s, string(p)) }
func (x suffix) matchString(s string) bool  { return strings.HasSuffix(s, string(x)) }
func (m starred) matchString(s string) bool { return m.Match(s) }
func (a anyOf) matchString(s string) bool {
	return slices.ContainsFunc(a, func(m matcher) bool { return m.matchString(s) })
}

// compile picks the cheapest matcher that can express the pattern.
func compile(seq []node) matcher {
	variants := variantsOf(seq)
	if variants == nil {
		return newSearch(seq)
	}
	var list anyOf
	for _, v := range variants {
		if end := slices.Index(ops(v), opEnd); end >= 0 {
			if slices.Contains(ops(v[end:]), opLiteral) {
				continue // nothing matches it
			}
			v = v[:end]
		}
		list = append(list, compileSimple(v))
	}
	if len(list) == 1 {
		return list[0]
	}
	return list
}

// maxVariants bounds what a pattern is expanded to.
const maxVariants = 16

// variantsOf expands seq to patterns of nothing but literals, stars and ends. A
// text matches seq if it matches one of them. nil means that there are none, or
// too many.
func variantsOf(seq []node) [][]node {
	variants := [][]node{nil}
	for _, n := range seq {
		parts := [][]node{{n}}
		switch {
		case n.op == opGroup && n.quant == 0:
			parts = nil
			for _, alt := range n.alts {
				sub := variantsOf(alt)
				if sub == nil {
					return nil
				}
				parts = append(parts, sub...)
			}
		case n.op != opLiteral && n.op != opStar && n.op != opEnd:
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

func ops(seq []node) []op {
	list := make([]op, len(seq))
	for i, n := range seq {
		list[i] = n.op
	}
	return list
}

// compileSimple compiles literals and stars.
func compileSimple(seq []node) matcher {
	switch {
	case len(seq) == 0:
		return literal("") // which no input is
	case len(seq) == 1 && seq[0].op == opStar:
		return anything{}
	case len(seq) == 1:
		return literal(seq[0].String())
	case len(seq) == 2 && seq[1].op == opStar:
		return prefix(seq[0].String())
	case len(seq) == 2:
		return suffix(seq[1].String())
	}
	var pattern strings.Builder
	for _, n := range seq {
		if n.op == opStar {
			pattern.WriteByte('*')
		} else {
			pattern.WriteString(glob.QuoteMeta(n.String()))
		}
	}
	return starred{glob.MustCompile(pattern.String())}
}

// checkNegations refuses each !(…) whose meaning in picomatch is not certain.
func checkNegations(seq []node, pattern string) error {
	for i, n := range seq {
		inside := slices.ContainsFunc(n.alts, hasNot)
		reason := ""
		switch {
		case n.op == opNot && inside:
			reason = "!(…) inside !(…); write a rule that denies instead"
		case n.extension && (n.nested || hasNot(seq[i+1:])):
			reason = "!(…*…) before an extension, in a group; write a rule that denies instead"
		case (n.quant == '*' || n.quant == '+') && inside:
			reason = "!(…) inside a group that is repeated; write a rule that denies instead"
		}
		if reason != "" {
			return &Error{Pattern: pattern, Offset: n.at, Reason: reason}
		}
		for _, alt := range n.alts {
			if err := checkNegations(alt, pattern); err != nil {
				return err
			}
		}
	}
	return nil
}

func hasNot(seq []node) bool {
	return slices.ContainsFunc(seq, func(n node) bool {
		return n.op == opNot || slices.ContainsFunc(n.alts, hasNot)
	})
}

// String returns the text of a literal.
func (n node) String() string { return string(utf16.Decode(n.text)) }

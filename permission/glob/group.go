package glob

import (
	"regexp"
	"strings"
)

// group reads "(" up to its ")"; quant and at are those of the mark before it.
func (p *parser) group(quant byte, at int) ([]node, error) {
	open := p.pos
	alts, closed, err := p.alternatives()
	if err != nil {
		return nil, err
	}
	if !closed {
		if quant != 0 || len(alts) > 1 || at != open {
			return nil, p.refuse(at, `"(" without ")"; write \( for the character`)
		}
		return append(plainText("("), alts[0]...), nil
	}
	body := p.src[open+1 : p.pos-1]
	if quant == '*' || quant == '+' {
		if riskyRepeat(body) {
			return nil, p.refuse(at, "alternatives that overlap cannot be repeated; list what you mean in {…}")
		}
		if p.repeats++; p.repeats > maxRepeats {
			return nil, p.refuse(at, "more than 100 groups that repeat")
		}
	}
	return []node{{op: opGroup, alts: alts, quant: quant, number: p.repeats, at: p.start + at}}, nil
}

// not reads the group of "!(…)".
func (p *parser) not(at int) ([]node, error) {
	open := p.pos
	alts, closed, err := p.alternatives()
	if err != nil {
		return nil, err
	}
	if !closed {
		return nil, p.refuse(at, `"!(" without ")"; write \( for the character`)
	}
	body, tail := p.src[open:p.pos], p.src[p.pos:]
	return []node{{op: opNot, alts: alts, at: p.start + at, nested: p.depth > 0, toEnd: strings.Trim(tail, ")") == "",
		extension: strings.Contains(body, "*") && extensionTail.MatchString(tail)}}, nil
}

// extensionTail is what picomatch takes for a file's extension after !(…*…).
var extensionTail = regexp.MustCompile(`^\.[^\\/.]+$`)

// alternatives reads "(a|b)"; closed is false where the pattern ends first.
func (p *parser) alternatives() (alts [][]node, closed bool, err error) {
	if p.peek(1) == '?' && strings.IndexByte("!=<:", p.peek(2)) >= 0 && p.peek(2) != 0 {
		return nil, false, p.refuse(p.pos, `"(?" is for regular expressions, not for globs`)
	}
	if p.depth++; p.depth > maxDepth {
		return nil, false, p.refuse(p.pos, "groups nest too deep")
	}
	defer func() { p.depth-- }()
	p.pos++ // the "("
	p.parens++
	p.saw(lastOpen)
	for {
		seq, err := p.sequence(inParens)
		if err != nil {
			return nil, false, err
		}
		alts = append(alts, seq)
		if p.pos == len(p.src) {
			p.parens--
			return alts, false, nil
		}
		p.pos++
		if p.src[p.pos-1] == ')' {
			p.parens--
			p.saw(lastClose)
			return alts, true, nil
		}
		p.saw(lastText) // the "|"
	}
}

// riskyRepeat reports whether picomatch refuses to repeat the body of a group
// and takes the pattern for plain text.
func riskyRepeat(body string) bool {
	branches := splitBranches(body)
	for i, b := range branches {
		b = strings.TrimSpace(b)
		branches[i] = b
		if len(b) > 2 && (b[0] == '*' || b[0] == '+') && b[1] == '(' && b[len(b)-1] == ')' {
			return true
		}
	}
	if len(branches) < 2 {
		return false
	}
	for i, b := range branches {
		if strings.Trim(b, "*?") == "" {
			return true
		}
		for _, c := range branches[i+1:] {
			if oneChar(b) && oneChar(c) && b[0] == c[0] {
				return true
			}
		}
	}
	return false
}

// oneChar reports whether b is one plain character, once or many times.
func oneChar(b string) bool {
	return b != "" && !strings.ContainsAny(b[:1], `?*+@!()[]{}\`) && strings.Trim(b, b[:1]) == ""
}

// splitBranches splits at each "|" outside brackets and parentheses.
func splitBranches(body string) []string {
	var parts []string
	from, parens, brackets := 0, 0, 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '\\':
			i++
		case '[':
			brackets++
		case ']':
			brackets = max(0, brackets-1)
		case '(':
			parens++
		case ')':
			parens--
		case '|':
			if parens == 0 && brackets == 0 {
				parts = append(parts, body[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, body[from:])
}

var charRange = regexp.MustCompile(`^(?:[0-9]\.\.[0-9]|[a-z]\.\.[a-z]|[A-Z]\.\.[A-Z])$`)

// brace reads "{a,b}" or "{1..3}". Braces around neither are text.
func (p *parser) brace() ([]node, error) {
	open := p.pos
	if p.depth++; p.depth > maxDepth {
		return nil, p.refuse(open, "groups nest too deep")
	}
	defer func() { p.depth-- }()
	p.pos++
	p.braces++
	p.saw(lastBrace)
	var alts [][]node
	commas, pipes := false, false
	for {
		seq, err := p.sequence(inBraces)
		if err != nil {
			return nil, err
		}
		alts = append(alts, seq)
		if p.pos == len(p.src) {
			if commas || pipes {
				return nil, p.refuse(open, `"{" without "}"; write \{ for the character`)
			}
			p.braces--
			return append(plainText("{"), alts[0]...), nil
		}
		p.pos++
		end := p.src[p.pos-1]
		if end == '}' {
			break
		}
		commas, pipes = commas || end == ',', pipes || end == '|'
		p.saw(lastBrace)
	}
	p.braces--
	p.saw(lastBrace)
	body := p.src[open+1 : p.pos-1]
	switch {
	case charRange.MatchString(body):
		lo, hi := min(body[0], body[3]), max(body[0], body[3])
		return []node{{op: opClass, text: []uint16{uint16(lo), uint16(hi)}}}, nil
	case strings.Contains(body, ".."):
		return nil, p.refuse(open, `".." in braces wants one digit or letter of a kind on each side, as in {1..3}; else list the alternatives`)
	case commas:
		return []node{either(alts...)}, nil
	case pipes:
		return nil, p.refuse(open, `"|" in braces; separate alternatives by commas`)
	}
	return append(append(plainText("{"), alts[0]...), plainText("}")...), nil
}

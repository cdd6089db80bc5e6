package glob

import (
	"strings"
	"unicode/utf8"

	"github.com/agentworker/worker/internal/termtext"
)

// A node is one part of a parsed pattern.
type node struct {
	op     op
	text   string   // opLiteral: the text; opRegexp: the expression
	alts   [][]node // opGroup, opNot
	quant  string   // opGroup: "", "?", "*" or "+"
	at     int      // opNot: offset in the pattern
	tail   string   // opNot: what follows the group, as written
	stars  bool     // opNot: the group holds a "*"
	nested bool     // opNot: it stands in a group
}

type op uint8

const (
	opLiteral     op = iota
	opStar           // any text
	opSome           // any text but the empty
	opNoSlash        // any text without "/"
	opRegexp         // "?" and "[…]"
	opGroup          // (a|b), {a,b}, ?(a) and so on
	opNot            // !(a|b)
	opFolders        // the "**/" that begins a pattern
	opMiddle         // the "/**/" in the middle of one
	opMiddleSlash    // the "/**/" that ends one
	opBelow          // the "/**" that ends one
	opMaybeSlash     // an optional last "/"
)

// context is what a sequence stands in.
type context uint8

const (
	inPattern context = iota
	inBraces
	inParens
)

// last is the kind of the token before, on which the meaning of the next may
// hang.
type last uint8

const (
	lastStart   last = iota // nothing yet
	lastText                // plain text
	lastSlash               // "/"
	lastStar                // "*"
	lastClass               // "[…]"
	lastBrace               // "{", "}" or ","
	lastOpen                // "("
	lastClose               // ")"
	lastSpecial             // "?", "."
)

// parser reads a pattern from left to right, as picomatch does.
type parser struct {
	pattern string // as written
	src     string // what is parsed: pattern without "!" and "./", halved
	pos     int
	start   int // offset of src in pattern
	parens  int // open ones
	braces  int
	depth   int
	last    last
	before  last // the one before last
}

// maxDepth bounds how deep groups may nest.
const maxDepth = 50

func parseGlob(pattern string) (seq []node, negated bool, err error) {
	p := &parser{pattern: pattern}
	switch {
	case pattern == "":
		return nil, false, p.refuse(0, "is empty")
	case len(pattern) > maxPattern:
		p.pattern = termtext.CutBytes(pattern, 32)
		return nil, false, p.refuse(0, "is longer than 64 KiB")
	case !utf8.ValidString(pattern):
		return nil, false, p.refuse(0, "is not valid UTF-8")
	case strings.IndexByte(pattern, 0) >= 0:
		return nil, false, p.refuse(strings.IndexByte(pattern, 0), "contains a NUL")
	}
	src := pattern
	if s, ok := map[string]string{"***": "*", "**/**": "**", "**/**/**": "**"}[src]; ok {
		src = s
	}
	if seq := commonForm(strings.TrimPrefix(src, "./")); seq != nil {
		return seq, false, nil
	}
	for strings.HasPrefix(src, "./") {
		src = src[2:]
	}
	if !strings.HasPrefix(src, "!(") || strings.HasPrefix(src, "!(?") {
		for strings.HasPrefix(src, "!") && !strings.HasPrefix(src, "!(") {
			negated = !negated
			src = src[1:]
		}
		for strings.HasPrefix(src, "./") {
			src = src[2:]
		}
	}
	p.start = len(pattern) - len(src)
	p.src = halve(src)
	seq, err = p.sequence(inPattern)
	if err != nil {
		return nil, false, err
	}
	if p.last == lastClass {
		seq = append(seq, node{op: opMaybeSlash})
	}
	return seq, negated, nil
}

func (p *parser) refuse(at int, reason string) error {
	return &Error{Pattern: p.pattern, Offset: p.start + at, Reason: reason}
}

// peek returns the byte n places on, 0 at the end.
func (p *parser) peek(n int) byte {
	if p.pos+n < len(p.src) {
		return p.src[p.pos+n]
	}
	return 0
}

func (p *parser) saw(l last) { p.before, p.last = p.last, l }

// sequence reads nodes up to the end of the pattern or to the character that
// ends the context, which it leaves.
func (p *parser) sequence(in context) ([]node, error) {
	var seq []node
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		switch {
		case in == inBraces && (c == ',' || c == '}'),
			in != inPattern && c == '|',
			in == inParens && c == ')':
			return seq, nil
		case in == inParens && c == '}' && p.braces > 0:
			return nil, p.refuse(p.pos, `"}" inside an open "("`)
		case in == inBraces && c == ')' && p.parens > 0:
			return nil, p.refuse(p.pos, `")" inside an open "{"`)
		}
		nodes, err := p.next()
		if err != nil {
			return nil, err
		}
		if len(nodes) > 0 && (nodes[0].op == opBelow || nodes[0].op == opMiddle || nodes[0].op == opMiddleSlash) {
			seq = trimSlash(seq) // it holds the slash before it
		}
		for _, n := range nodes {
			seq = appendNode(seq, n)
		}
	}
	return seq, nil
}

// appendNode joins neighbouring literals and stars.
func appendNode(seq []node, n node) []node {
	if k := len(seq) - 1; k >= 0 && seq[k].op == n.op {
		switch n.op {
		case opLiteral:
			seq[k].text += n.text
			return seq
		case opStar:
			return seq
		}
	}
	return append(seq, n)
}

func trimSlash(seq []node) []node {
	k := len(seq) - 1
	seq[k].text = strings.TrimSuffix(seq[k].text, "/")
	if seq[k].text == "" {
		return seq[:k]
	}
	return seq
}

package glob

import (
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/agentworker/worker/internal/termtext"
)

// A node is one part of a parsed pattern.
type node struct {
	op        op
	text      []uint16 // opLiteral: the text; opClass: the first and last character of each range
	negated   bool     // opClass: it has all other characters
	alts      [][]node // opGroup, opNot
	quant     byte     // opGroup: 0 or one of "?*+"
	number    int      // opGroup that repeats: which one it is
	ownsSlash bool     // opGroup: it holds the slash before it
	at        int      // opGroup, opNot: offset in the pattern
	limit     int      // opStar: where it begins at the latest, if not 0
	// of opNot:
	toEnd     bool // nothing follows
	extension bool // it holds a "*", and an extension follows
	nested    bool // it stands in a group
}

type op uint8

const (
	opLiteral op = iota
	opStar       // any text
	opSome       // any text but the empty
	opClass      // "?" and "[…]": one character
	opGroup      // (a|b), {a,b}, ?(a) and so on
	opNot        // !(a|b)
	opEnd        // the end of the text
)

// context says what surrounds a sequence.
type context uint8

const (
	inPattern context = iota
	inBraces
	inParens
)

// last is the kind of the token before. The meaning of the next may depend on it.
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
	repeats int // groups that repeat, so far
	last    last
	before  last // the one before last
}

// maxDepth bounds how deep groups may nest.
const maxDepth = 50

// maxRepeats bounds how many groups may repeat.
const maxRepeats = 100

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
		seq = append(seq, maybeSlash)
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
		if len(nodes) > 0 && nodes[0].ownsSlash {
			seq = trimSlash(seq)
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
			seq[k].text = slices.Concat(seq[k].text, n.text)
			return seq
		case opStar:
			return seq
		}
	}
	return append(seq, n)
}

func trimSlash(seq []node) []node {
	k := len(seq) - 1
	text := seq[k].text
	if seq[k].text = text[:len(text)-1]; len(text) == 1 {
		return seq[:k]
	}
	return seq
}

// halve writes each character above U+FFFF as two, its UTF-16 halves moved to
// a private plane: to picomatch, and so to "?" and "[…]", they are two.
func halve(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r > 0xFFFF {
			high, low := utf16.EncodeRune(r)
			b.WriteRune(0x100000 + high)
			r = 0x100000 + low
		}
		b.WriteRune(r)
	}
	return b.String()
}

// units returns s in UTF-16; s was halved.
func units(s string) []uint16 {
	var text []uint16
	for _, r := range s {
		text = append(text, uint16(r))
	}
	return text
}

func literalNode(s string) node { return node{op: opLiteral, text: units(s)} }

// either returns a group of alternatives.
func either(alts ...[]node) node { return node{op: opGroup, alts: alts} }

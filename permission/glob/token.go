package glob

import (
	"strings"
	"unicode/utf8"
)

// next reads one token.
func (p *parser) next() ([]node, error) {
	switch c := p.src[p.pos]; c {
	case '\\':
		return p.escape()
	case '[':
		return p.class()
	case '{':
		return p.brace()
	case '(':
		return p.group(0, p.pos)
	case '"':
		return p.quoted()
	case '*':
		return p.stars()
	case '?':
		return p.question()
	case '+', '@', '!':
		return p.mark(c)
	case '/':
		p.pos++
		p.saw(lastSlash)
		return plainText("/"), nil
	case '.', '|', ')', '}', ']', ',':
		p.pos++
		p.saw(lastText)
		return plainText(string(c)), nil
	}
	return p.plain(), nil
}

func plainText(s string) []node { return []node{literalNode(s)} }

// plain reads text without special characters. A double quote inside it is
// text as well.
func (p *parser) plain() []node {
	rest := p.src[p.pos:]
	n := strings.IndexAny(rest[1:], `@![].,$*+?^{}()|\/`) + 1
	if n == 0 {
		n = len(rest)
	}
	p.pos += n
	p.saw(lastText)
	return plainText(rest[:n])
}

// escape reads a backslash and what it escapes.
func (p *parser) escape() ([]node, error) {
	at := p.pos
	n := 1
	for p.peek(n) == '\\' {
		n++
	}
	plain := p.plainEscapes()
	if n > 3 && (n%2 != 0 || !plain) {
		return nil, p.refuse(at, "more than three backslashes in a row")
	}
	p.pos += n
	p.saw(lastText)
	next := p.peek(0)
	switch {
	case n%2 == 0 && plain && next != 0 && next != '*' && next != '?' && !wordByte(next):
		return nil, nil // picomatch loses the backslash; the character follows
	case n%2 == 0 || next == 0:
		return plainText(`\`), nil
	}
	lead := ""
	if n == 3 {
		lead = `\`
	}
	r, size := utf8.DecodeRuneInString(p.src[p.pos:])
	if regexpLetter(r) {
		return nil, p.refuse(at, `"\`+string(r)+`" is a regular expression's; write the character itself`)
	}
	p.pos += size
	if r == '/' {
		p.last = lastText // an escaped slash separates nothing
	}
	return plainText(lead + string(r)), nil
}

// plainEscapes reports whether picomatch reads the pattern on its short path,
// where escapes mean something else now and then.
func (p *parser) plainEscapes() bool {
	return p.src[0] != '*' && !strings.HasPrefix(p.pattern, "!") && !strings.ContainsAny(p.src, `/()[]{}"`)
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// regexpLetter reports whether a backslash makes r mean something else in a
// regular expression.
func regexpLetter(r rune) bool {
	return strings.ContainsRune("bBcdDfknpPrsStuvwWx0123456789", r)
}

// quoted reads a double quote that opens a quotation: what it holds is text,
// and the quotes are not.
func (p *parser) quoted() ([]node, error) {
	at := p.pos
	end := strings.IndexByte(p.src[at+1:], '"')
	if end < 0 {
		return nil, p.refuse(at, `a double quote without its partner; write \" for the character`)
	}
	inner := p.src[at+1 : at+1+end]
	if strings.ContainsAny(inner, `\`) {
		return nil, p.refuse(at, "a backslash between double quotes")
	}
	p.pos = at + end + 2
	p.saw(lastText)
	if inner == "" {
		return nil, nil
	}
	return plainText(inner), nil
}

// stars reads a run of "*". Two between slashes, or at an end, also match
// where no folder is.
func (p *parser) stars() ([]node, error) {
	n := 1
	for p.peek(n) == '*' {
		n++
	}
	if p.peek(n) == '(' && p.peek(n+1) != '?' && p.pos+n+1 < len(p.src) { // the last one opens *(…)
		p.pos += n - 1
		var seq []node
		if n > 1 {
			p.saw(lastStar)
			seq = []node{star}
		}
		p.pos++
		group, err := p.group('*', p.pos-1)
		return append(seq, group...), err
	}
	p.pos += n
	from, beforeSlash := p.last, p.before
	p.saw(lastStar)
	if n != 2 || from != lastStart && from != lastSlash || p.peek(0) != 0 && p.peek(0) != '/' {
		return []node{star}, nil
	}
	for p.peek(0) == '/' && p.peek(1) == '*' && p.peek(2) == '*' && (p.peek(3) == 0 || p.peek(3) == '/') {
		p.pos += 3
	}
	atEnd := p.peek(0) == 0
	below := from == lastSlash && beforeSlash != lastStart
	switch {
	case below && atEnd && beforeSlash != lastStar: // "/**" at the end
		p.last = lastSpecial
		return []node{{op: opGroup, ownsSlash: true, alts: [][]node{{slash, star}, nil}}}, nil
	case below && !atEnd: // "/**/"
		p.pos++
		p.last = lastSlash
		middle := node{op: opGroup, ownsSlash: true, alts: [][]node{{slash, star, slash}, {slash}}}
		if p.pos < len(p.src) {
			middle.alts = append(middle.alts, []node{{op: opEnd}})
		}
		return []node{middle}, nil
	case from == lastStart && !atEnd: // "**/" at the start
		p.pos++
		p.last = lastSlash
		return []node{folders}, nil
	}
	return []node{star}, nil
}

// What several forms of stars and slashes are made of.
var (
	star       = node{op: opStar}
	slash      = literalNode("/")
	folders    = either([]node{star, slash}, nil)
	maybeSlash = either([]node{slash}, nil)
)

// question reads a "?": one character but "/", or ?(…).
func (p *parser) question() ([]node, error) {
	at := p.pos
	p.pos++
	switch {
	case p.last != lastOpen && p.peek(0) == '(' && p.peek(1) != '?':
		return p.group('?', at)
	case p.last == lastClose:
		return nil, p.refuse(at, `"?" after ")" is a regular expression's; write ?(…)`)
	case p.last == lastOpen: // picomatch takes it for the character
		p.saw(lastText)
		return plainText("?"), nil
	}
	p.saw(lastSpecial)
	return []node{{op: opClass, text: units("//"), negated: true}}, nil
}

// mark reads "+", "@" or "!", which may open a group.
func (p *parser) mark(c byte) ([]node, error) {
	at := p.pos
	p.pos++
	if p.peek(0) == '(' && (p.peek(1) != '?' || c == '!') {
		switch c {
		case '+':
			return p.group('+', at)
		case '@':
			return p.group(0, at)
		}
		return p.not(at)
	}
	if c == '+' && (p.last == lastClass || p.last == lastClose || p.last == lastBrace || p.parens > 0 && p.last != lastOpen) {
		return nil, p.refuse(at, `"+" here is a regular expression's; write \+ for the character, +(…) for one or more`)
	}
	if c == '!' {
		p.pos = at
		return p.plain(), nil
	}
	p.saw(lastText)
	return plainText(string(c)), nil
}

package glob

import (
	"strings"
	"unicode/utf8"
)

// posixClasses are those of "[[:name:]]", as picomatch has them: the first and
// last character of each range.
var posixClasses = map[string]string{
	"alnum": "azAZ09", "alpha": "azAZ", "ascii": "\x00\x7F", "blank": "  \t\t", "cntrl": "\x00\x1F\x7F\x7F",
	"digit": "09", "graph": "\x21\x7E", "lower": "az", "print": "\x20\x7E", "punct": "!/:@[`{~",
	"space": "\t\r  ", "upper": "AZ", "word": "AZaz09__", "xdigit": "AFaf09",
}

// class reads "[…]".
func (p *parser) class() ([]node, error) {
	open := p.pos
	if !strings.Contains(p.src[open:], "]") {
		p.pos++
		p.saw(lastClass)
		return plainText("["), nil
	}
	p.pos++
	var set []uint16
	negated := p.peek(0) == '^' || p.peek(0) == '!'
	if negated {
		p.pos++
	}
	posix := false
	first := true
	for {
		if p.pos >= len(p.src) {
			return nil, p.refuse(open, `"[" without a "]" that ends it; write \[ for the character`)
		}
		if p.src[p.pos] == ']' && !first {
			break
		}
		first = false
		if p.src[p.pos] == '[' && p.peek(1) == ':' {
			name, _, ok := strings.Cut(p.src[p.pos+2:], ":]")
			ranges, known := posixClasses[name]
			if !ok || !known {
				return nil, p.refuse(p.pos, `"[:" wants the name of a character class, as in [[:alpha:]]`)
			}
			set = append(set, units(ranges)...)
			posix = true
			p.pos += len(name) + 4
			continue
		}
		lo, err := p.classChar()
		if err != nil {
			return nil, err
		}
		hi := lo
		if p.peek(0) == '-' && p.peek(1) != ']' && p.peek(1) != 0 && (p.peek(1) != '[' || p.peek(2) != ':') {
			at := p.pos
			p.pos++
			if hi, err = p.classChar(); err != nil {
				return nil, err
			}
			if hi < lo {
				return nil, p.refuse(at-1, "the range runs backwards")
			}
		}
		set = append(set, uint16(lo), uint16(hi))
	}
	inner := p.src[open+1 : p.pos]
	p.pos++
	p.saw(lastClass)
	class := node{op: opClass, text: set, negated: negated}
	switch {
	case negated && !posix && !strings.Contains(inner, "/"):
		class.text = append(class.text, '/', '/')
	case !negated && !posix && !strings.ContainsAny(inner, `-*+?.^${}(|)[]`): // "[id]" is also a folder's name
		class = either(plainText("["+strings.ReplaceAll(inner, `\`, "")+"]"), []node{class})
	}
	return []node{class}, nil
}

// classChar reads one character of a class.
func (p *parser) classChar() (rune, error) {
	r, size := utf8.DecodeRuneInString(p.src[p.pos:])
	if r != '\\' {
		p.pos += size
		return r, nil
	}
	at := p.pos
	p.pos++
	r, size = utf8.DecodeRuneInString(p.src[p.pos:])
	if size == 0 || regexpLetter(r) {
		return 0, p.refuse(at, `this escape is a regular expression's; write the character itself`)
	}
	p.pos += size
	return r, nil
}

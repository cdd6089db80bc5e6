package glob

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// posixClasses are those of "[[:name:]]", as picomatch has them.
var posixClasses = map[string]string{
	"alnum": `a-zA-Z0-9`, "alpha": `a-zA-Z`, "ascii": `\x00-\x7F`, "blank": ` \t`, "cntrl": `\x00-\x1F\x7F`,
	"digit": `0-9`, "graph": `\x21-\x7E`, "lower": `a-z`, "print": `\x20-\x7E`, "punct": `!-/:-@\[-` + "`" + `{-~`,
	"space": ` \t\r\n\v\f`, "upper": `A-Z`, "word": `A-Za-z0-9_`, "xdigit": `A-Fa-f0-9`,
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
	var set strings.Builder
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
			set.WriteString(ranges)
			posix = true
			p.pos += len(name) + 4
			continue
		}
		lo, err := p.classChar()
		if err != nil {
			return nil, err
		}
		set.WriteString(quoteClass(lo))
		if p.peek(0) == '-' && p.peek(1) != ']' && p.peek(1) != 0 && (p.peek(1) != '[' || p.peek(2) != ':') {
			at := p.pos
			p.pos++
			hi, err := p.classChar()
			if err != nil {
				return nil, err
			}
			if hi < lo {
				return nil, p.refuse(at-1, "the range runs backwards")
			}
			set.WriteString("-" + quoteClass(hi))
		}
	}
	inner := p.src[open+1 : p.pos]
	p.pos++
	p.saw(lastClass)
	if negated {
		if !posix && !strings.Contains(inner, "/") {
			set.WriteString("/")
		}
		return []node{{op: opRegexp, text: "[^" + set.String() + "]"}}, nil
	}
	re := "[" + set.String() + "]"
	if !posix && !strings.ContainsAny(inner, `-*+?.^${}(|)[]`) { // "[id]" is also a folder's name
		re = "(?:" + regexp.QuoteMeta("["+strings.ReplaceAll(inner, `\`, "")+"]") + "|" + re + ")"
	}
	return []node{{op: opRegexp, text: re}}, nil
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

func quoteClass(r rune) string {
	if strings.ContainsRune(`\]^-[&~`, r) {
		return `\` + string(r)
	}
	return string(r)
}

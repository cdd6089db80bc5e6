// Package linematch finds the lines of a text that a regular expression matches.
package linematch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

// Matcher finds the lines that a regular expression matches. It is safe for
// concurrent use.
type Matcher struct {
	re *regexp.Regexp
	// literal is in every line that matches; empty if unknown. Looking for
	// it first is what makes a search fast.
	literal []byte
	only    bool // a line that holds literal matches
}

// The bounds of a regular expression: of its text, and of the program that it
// becomes, each instruction of which may cost a step for each character.
const (
	maxPatternBytes = 4 << 10
	maxProgram      = 5000
)

// Compile reads a regular expression in RE2 syntax. An error says what is wrong
// with pattern, or that it is larger than the bounds above.
func Compile(pattern string, ignoreCase bool) (*Matcher, error) {
	if pattern == "" {
		return nil, errors.New("pattern is empty: give a regular expression")
	}
	if len(pattern) > maxPatternBytes {
		return nil, fmt.Errorf("pattern has %d bytes, at most %d are allowed", len(pattern), maxPatternBytes)
	}
	if ignoreCase {
		pattern = "(?i)" + pattern
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("pattern is not a regular expression (RE2 syntax): %w", err)
	}
	tree = tree.Simplify()
	prog, err := syntax.Compile(tree)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	if len(prog.Inst) > maxProgram {
		return nil, fmt.Errorf("pattern is too large: its repetitions make %d steps of it, at most %d are allowed", len(prog.Inst), maxProgram)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	literal, only := requiredLiteral(tree)
	return &Matcher{re: re, literal: []byte(literal), only: only}, nil
}

// requiredLiteral returns the longest text that it knows to be part of every
// match, and whether that is all there is to a match.
func requiredLiteral(re *syntax.Regexp) (literal string, only bool) {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r == utf8.RuneError { // matches bytes that are no UTF-8
				return "", false
			}
		}
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune), true
		}
	case syntax.OpCapture:
		return requiredLiteral(re.Sub[0])
	case syntax.OpPlus:
		literal, _ = requiredLiteral(re.Sub[0])
		return literal, false
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if l, _ := requiredLiteral(sub); len(l) > len(literal) {
				literal = l
			}
		}
	}
	return literal, false
}

// Next returns where the first matching line of text begins, and where in the line
// the match begins. It looks from the line that begins at text[at] on. A start of
// -1 means that no line matches, or that ctx has ended.
func (m *Matcher) Next(ctx context.Context, text []byte, at int) (start, from int) {
	for count := 0; at < len(text); count++ {
		if count%256 == 255 && ctx.Err() != nil {
			break
		}
		hit := 0
		if len(m.literal) > 0 {
			i := bytes.Index(text[at:], m.literal)
			if i < 0 {
				break
			}
			begin := at + bytes.LastIndexByte(text[at:at+i], '\n') + 1
			hit = at + i - begin
			at = begin
		}
		line, following := LineAt(text, at)
		if m.only && hit+len(m.literal) <= len(line) {
			return at, hit
		}
		if from := m.find(ctx, line); from >= 0 {
			return at, from
		}
		at = following
	}
	return -1, 0
}

// longLine is the length from which a match checks the context again and again, which
// is slower.
const longLine = 16 << 10

// find returns where the first match in line begins, or -1.
func (m *Matcher) find(ctx context.Context, line []byte) int {
	var at []int
	if len(line) < longLine {
		at = m.re.FindIndex(line)
	} else {
		at = m.re.FindReaderIndex(&runeReader{ctx: ctx, rest: line})
	}
	if at == nil {
		return -1
	}
	return at[0]
}

// runeReader reads the runes of rest until ctx ends.
type runeReader struct {
	ctx   context.Context
	rest  []byte
	count int
}

// ReadRune implements [io.RuneReader].
func (r *runeReader) ReadRune() (rune, int, error) {
	if r.count++; len(r.rest) == 0 || r.count%1024 == 0 && r.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRune(r.rest)
	r.rest = r.rest[size:]
	return c, size, nil
}

// LineAt returns the line that begins at text[start], without its line end, and
// where the next one begins.
func LineAt(text []byte, start int) (line []byte, next int) {
	end := len(text)
	next = end
	if i := bytes.IndexByte(text[start:], '\n'); i >= 0 {
		end = start + i
		next = end + 1
	}
	return bytes.TrimSuffix(text[start:end], []byte{'\r'}), next
}

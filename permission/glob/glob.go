package glob

import (
	"fmt"
	"strings"
)

// maxPattern is the longest pattern in bytes, as in picomatch.
const maxPattern = 64 << 10

// Glob is a compiled pattern of the dialect that the package comment
// describes. It is immutable and safe for concurrent use.
type Glob struct {
	pattern string // as written; an input equal to it always matches
	negated bool   // an odd number of leading "!"
	match   matcher
}

// Error says why a pattern was refused.
type Error struct {
	Pattern string
	Offset  int // in bytes, where the reason begins
	Reason  string
}

func (e *Error) Error() string {
	return fmt.Sprintf("pattern %q, offset %d: %s", e.Pattern, e.Offset, e.Reason)
}

// Compile compiles a pattern. The error is an [*Error]. A pattern without a
// certain meaning in the dialect is refused, never matched otherwise.
func Compile(pattern string) (*Glob, error) {
	if m := simple(pattern); m != nil {
		return &Glob{pattern: pattern, match: m}, nil
	}
	seq, negated, err := parseGlob(pattern)
	if err == nil {
		err = checkNegations(seq, pattern)
	}
	if err != nil {
		return nil, err
	}
	return &Glob{pattern: pattern, negated: negated, match: compile(seq)}, nil
}

// simple returns what matches a pattern of plain text, and at most a star at its end: most are,
// and files have thousands. nil means that it is another one.
func simple(pattern string) matcher {
	text, star := strings.CutSuffix(pattern, "*")
	switch {
	case text == "" || len(pattern) > maxPattern || strings.Trim(text, plainBytes) != "":
		return nil
	case star:
		return prefix(text)
	}
	return literal(text)
}

// Match reports whether all of s matches. The empty string matches
// nothing, and a string equal to the pattern always matches.
func (g *Glob) Match(s string) bool {
	if s == "" {
		return false
	}
	return s == g.pattern || g.match.matchString(s) != g.negated
}

// String returns the pattern as written.
func (g *Glob) String() string { return g.pattern }

// Prefix returns text that every match begins with; "" if it is not known.
func (g *Glob) Prefix() string {
	if g.negated {
		return ""
	}
	return g.pattern[:len(g.pattern)-len(strings.TrimLeft(g.pattern, plainBytes))]
}

// plainBytes mean themselves in all places of a pattern. A "/" does not:
// "a/**" also matches "a".
const plainBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_- "

// MatchesAll reports whether the pattern is one that every value matches.
func (g *Glob) MatchesAll() bool {
	_, all := g.match.(anything)
	return all && !g.negated
}

// Quote returns a pattern that matches s and nothing else.
func Quote(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '\\': // picomatch may drop one of two backslashes
			b.WriteString(`@(\\)`)
			continue
		case strings.IndexByte("*?[]{}()!+@|\"$^", c) >= 0,
			i == 0 && (c == '~' || strings.HasPrefix(s, "./")): // "./" and "~/" mean something at the front
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

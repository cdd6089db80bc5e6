package glob

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gobwas/glob"
)

// maxPattern is the longest pattern in bytes, as in picomatch.
const maxPattern = 64 << 10

// Glob is a compiled pattern of the dialect that the package comment
// describes. It is immutable and safe for concurrent use. Matching takes time
// linear in the length of the input, whatever the pattern.
type Glob struct {
	pattern string // as written; an input equal to it always matches
	negated bool   // an odd number of leading "!"
	match   matcher
}

// matcher matches inputs that are neither empty nor equal to the pattern.
type matcher interface{ matchString(s string) bool }

// Error says why a pattern was refused.
type Error struct {
	Pattern string
	Offset  int // in bytes, where the reason begins
	Reason  string
}

func (e *Error) Error() string {
	return fmt.Sprintf("pattern %q, offset %d: %s", e.Pattern, e.Offset, e.Reason)
}

// Compile compiles a pattern. The error is an [*Error]: what has no
// certain meaning in the dialect is refused, never matched otherwise.
func Compile(pattern string) (*Glob, error) {
	seq, negated, err := parseGlob(pattern)
	if err != nil {
		return nil, err
	}
	m, err := compileSequence(seq)
	if err != nil {
		if pe, ok := err.(*Error); ok {
			pe.Pattern = pattern
			return nil, pe
		}
		return nil, &Error{Pattern: pattern, Reason: err.Error()}
	}
	return &Glob{pattern: pattern, negated: negated, match: m}, nil
}

// Match reports whether the whole of s matches. The empty string matches
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

// plainBytes mean themselves wherever they stand in a pattern. A "/" is not
// among them: "a/**" also matches "a".
const plainBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_- "

// MatchesAll reports whether the pattern is one that every value matches.
func (g *Glob) MatchesAll() bool {
	_, all := g.match.(anything)
	return all && !g.negated
}

// Quote returns a pattern that matches s alone.
func Quote(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '\\': // a double backslash alone may lose one, as in picomatch
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

// The engines, from the cheapest.
type (
	anything struct{} // "*", "**"
	literal  string
	prefix   string                      // x*
	suffix   string                      // *x
	infix    string                      // *x*
	affix    struct{ begin, end string } // x*y
	starred  struct{ *glob.Pattern }     // more literals and stars; without separators, so linear
	anyOf    []matcher
	expr     struct { // all the rest
		re                *regexp.Regexp
		begin, holds, end string // literals that every match has, cheap to look for
	}
)

func (anything) matchString(string) bool    { return true }
func (l literal) matchString(s string) bool { return s == string(l) }
func (p prefix) matchString(s string) bool  { return strings.HasPrefix(s, string(p)) }
func (x suffix) matchString(s string) bool  { return strings.HasSuffix(s, string(x)) }
func (x infix) matchString(s string) bool   { return strings.Contains(s, string(x)) }
func (m starred) matchString(s string) bool { return m.Match(s) }
func (x affix) matchString(s string) bool {
	return len(s) >= len(x.begin)+len(x.end) && strings.HasPrefix(s, x.begin) && strings.HasSuffix(s, x.end)
}
func (a anyOf) matchString(s string) bool {
	for _, m := range a {
		if m.matchString(s) {
			return true
		}
	}
	return false
}
func (e expr) matchString(s string) bool {
	return strings.HasPrefix(s, e.begin) && strings.HasSuffix(s, e.end) && strings.Contains(s, e.holds) &&
		e.re.MatchString(halve(s))
}

// halve writes each character above U+FFFF as two, its UTF-16 halves moved to
// a private plane: to picomatch, and so to "?" and "[…]", they are two.
func halve(s string) string {
	i := 0
	for i < len(s) && s[i] < 0xF0 {
		i++
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:i])
	for _, r := range s[i:] {
		if r > 0xFFFF {
			r -= 0x10000
			b.WriteRune(0x10D800 + r>>10)
			b.WriteRune(0x10DC00 + r&0x3FF)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

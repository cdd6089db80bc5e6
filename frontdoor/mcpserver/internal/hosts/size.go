package hosts

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Size is how long a text may be. The zero value is any length.
type Size struct {
	Max int
	In  Measure
}

// Measure is what a host counts.
type Measure uint8

const (
	UTF16Units Measure = iota // as hosts written in JavaScript do
	UTF8Bytes
	JSONUnits // UTF-16 units of the text within JSON, as JSON.stringify writes it
)

// Of returns how long a text is.
func (s Size) Of(text string) int {
	n := 0
	for _, r := range text {
		n += s.OfRune(r)
	}
	return n
}

// OfRune is Of for one character.
func (s Size) OfRune(r rune) int {
	switch {
	case s.In == UTF8Bytes:
		return utf8.RuneLen(r)
	case s.In == JSONUnits && strings.ContainsRune("\"\\\n\r\t\b\f", r):
		return 2
	case s.In == JSONUnits && r < ' ':
		return len(`\u0000`)
	default:
		return utf16.RuneLen(r)
	}
}

// Fits reports whether a text is short enough.
func (s Size) Fits(text string) bool { return s.Max == 0 || s.Of(text) <= s.Max }

// HeadOf returns the beginning of s within budget. It ends at a line's end if the
// last quarter has one.
func HeadOf(s string, budget int, limit Size) string {
	end, used := 0, 0
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		if used += limit.OfRune(r); used > budget {
			break
		}
		end += n
	}
	if end >= len(s) {
		return s
	}
	if line := strings.LastIndexByte(s[:end], '\n'); line > end-end/4 {
		return s[:line]
	}
	return s[:end]
}

// TailOf returns the end of s within budget. It begins at a line's start if the
// first quarter has one.
func TailOf(s string, budget int, limit Size) string {
	start, used := len(s), 0
	for start > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:start])
		if used += limit.OfRune(r); used > budget {
			break
		}
		start -= n
	}
	tail := s[start:]
	if line := strings.IndexByte(tail, '\n'); start > 0 && line >= 0 && line < len(tail)/4 {
		return tail[line+1:]
	}
	return tail
}

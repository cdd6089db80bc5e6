package termtext

import (
	"fmt"
	"strings"
)

// Plural returns n with the name of what is counted: "1 agent", "2 agents". The
// plural ends in s unless it is given.
func Plural(n int, one string, many ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(many) > 0:
		return fmt.Sprintf("%d %s", n, many[0])
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// Printable removes from s what could move the cursor of a terminal or change
// the direction of its text: control characters except line ends and tabs.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unprintable(r) {
			return -1
		}
		return r
	}, s)
}

func unprintable(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0, // C0, DEL, C1
		r == 0x200e, r == 0x200f, r == 0x061c, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, // direction
		r == 0x2028, r == 0x2029, // line ends
		r == 0xfeff: // byte order mark
		return true
	}
	return false
}

// OneLine makes s one line of at most limit characters. It removes control
// characters and characters that change the direction of text, so that text
// from a model or a file cannot move the cursor of the reader.
func OneLine(s string, limit int) string {
	return Cut(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if unprintable(r) {
			return -1
		}
		return r
	}, s), limit)
}

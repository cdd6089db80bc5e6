package termtext

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Visible makes s one line in which nothing hides, for a person who decides
// about it. Characters that are invisible or change the direction of text are
// written as escapes. If s is longer than limit characters, the middle is left
// out, not the end. It reports false if not all of s is shown.
func Visible(s string, limit int) (line string, complete bool) {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case Hides(r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	runes := []rune(b.String())
	if len(runes) <= limit {
		return string(runes), true
	}
	note := fmt.Sprintf(" …(%d characters)… ", len(runes)-limit)
	head := limit * 2 / 3
	return string(runes[:head]) + note + string(runes[len(runes)-(limit-head):]), false
}

// Hides reports whether a character is invisible, or changes the direction of text. Line
// ends and tabs do.
func Hides(r rune) bool { return !strconv.IsPrint(r) || unicode.In(r, blank...) }

// blank are letters and marks that count as printable and show nothing.
var blank = []*unicode.RangeTable{
	unicode.Other_Default_Ignorable_Code_Point,
	unicode.Variation_Selector,
	{R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}}, // the braille pattern without dots
}

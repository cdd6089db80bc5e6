package termtext

import (
	"fmt"
	"io"
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

// lastShown is how many of the last texts are shown where there are too many.
const lastShown = 10

// VisibleLines writes texts, a line each, for a person who decides about them. It
// shows up to maxText characters of each text, and up to maxTexts texts, always with
// the last 10; maxTexts must be more than 10. If something is left out, it writes
// that, and reports false.
func VisibleLines(w io.Writer, texts []string, maxText, maxTexts int) (complete bool) {
	complete = true
	for i, text := range texts {
		if hidden := len(texts) - maxTexts; hidden > 0 && i >= maxTexts-lastShown && i < len(texts)-lastShown {
			if i == maxTexts-lastShown {
				fmt.Fprintf(w, "    … %d more …\n", hidden)
			}
			complete = false
			continue
		}
		line, all := Visible(text, maxText)
		fmt.Fprintf(w, "    %s\n", line)
		complete = complete && all
	}
	if !complete {
		fmt.Fprintln(w, "  not all of it is shown here; worker approvals list --json does")
	}
	return complete
}

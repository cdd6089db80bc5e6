package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Bounds of what a person is shown of one call.
const (
	maxShownText  = 4000 // characters of one text
	maxShownTexts = 60
)

// visible makes s one line in which nothing hides: what does not print, or
// changes the direction of text, is written as an escape, and of more than
// limit characters the middle is left out, not the end.
func visible(s string, limit int) (line string, whole bool) {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case !strconv.IsPrint(r):
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

// visibleList is visible for several texts in one line.
func visibleList(texts []string, limit int) string {
	line, _ := visible(strings.Join(texts, ", "), limit)
	return line
}

// list prints each text in a line of its own: what is approved must not hide
// behind what is shown. It reports false where not all of it is, and says so.
func list(w io.Writer, texts []string) (whole bool) {
	whole = true
	for i, text := range texts {
		if hidden := len(texts) - maxShownTexts; hidden > 0 && i >= maxShownTexts-10 && i < len(texts)-10 {
			if i == maxShownTexts-10 {
				fmt.Fprintf(w, "    … %d more …\n", hidden)
			}
			whole = false
			continue
		}
		line, all := visible(text, maxShownText)
		fmt.Fprintf(w, "    %s\n", line)
		whole = whole && all
	}
	if !whole {
		fmt.Fprintln(w, "  not all of it is shown here; worker approvals list --json does")
	}
	return whole
}

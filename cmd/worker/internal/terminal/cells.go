package terminal

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Cells returns how many columns of a terminal a text takes.
func Cells(s string) int {
	n := 0
	for _, r := range s {
		n += cellsOf(r)
	}
	return n
}

func cellsOf(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// fit returns the beginning of a text that takes at most limit columns, with a
// "…" at its end where some of it is left out.
func fit(s string, limit int) string {
	if Cells(s) <= limit {
		return s
	}
	if limit < 1 {
		return ""
	}
	n := 0
	for i, r := range s {
		if n += cellsOf(r); n > limit-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// FitEnd is fit for the end of a text.
func FitEnd(s string, limit int) string {
	if Cells(s) <= limit {
		return s
	}
	if limit < 1 {
		return ""
	}
	runes, n := []rune(s), 0
	for i := len(runes) - 1; i >= 0; i-- {
		if n += cellsOf(runes[i]); n > limit-1 {
			return "…" + string(runes[i+1:])
		}
	}
	return s
}

// wrap breaks a text into lines of at most limit columns, at blanks where it
// can.
func wrap(s string, limit int) []string {
	limit = max(limit, 1)
	var lines []string
	line, n := "", 0
	for _, word := range strings.Fields(s) {
		switch wide := Cells(word); {
		case n == 0:
			line, n = word, wide
		case n+1+wide <= limit:
			line, n = line+" "+word, n+1+wide
		default:
			lines = append(lines, line)
			line, n = word, wide
		}
		for n > limit { // a word that no line holds
			head, taken := "", 0
			for _, r := range line {
				if taken+cellsOf(r) > limit && head != "" {
					break
				}
				head, taken = head+string(r), taken+cellsOf(r)
			}
			if line = line[len(head):]; line == "" {
				line, n = head, 0
				break
			}
			lines = append(lines, head)
			n = Cells(line)
		}
	}
	return append(lines, line)
}

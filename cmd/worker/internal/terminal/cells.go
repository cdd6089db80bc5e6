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

// Fit returns the beginning of a text that takes at most limit columns, with a
// "…" at its end where some of it is left out.
func Fit(s string, limit int) string {
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

// FitEnd is Fit for the end of a text.
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
			head, used := "", 0
			for _, r := range line {
				if used+cellsOf(r) > limit && head != "" {
					break
				}
				head, used = head+string(r), used+cellsOf(r)
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

// tabStop is how many columns apart the stops of a tab are.
const tabStop = 4

// Lines breaks a text into lines of at most so many columns. It breaks after a blank, if
// the last third of a line has one, and indents the continuation like its line. Blanks are
// kept, and tabs become blanks.
func Lines(text string, columns int) []string {
	columns = max(columns, 2)
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		line = untabbed(line)
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		if indent = indent[:min(len(indent), columns/3)]; Cells(line) <= columns {
			indent = ""
		}
		for i, part := range broken(line[len(indent):], columns-len(indent)) {
			if i > 0 && part == "" {
				continue
			}
			lines = append(lines, indent+part)
		}
	}
	return lines
}

func untabbed(line string) string {
	if !strings.Contains(line, "\t") {
		return line
	}
	var b strings.Builder
	n := 0
	for _, r := range line {
		if r != '\t' {
			b.WriteRune(r)
			n += cellsOf(r)
			continue
		}
		blanks := tabStop - n%tabStop
		b.WriteString(strings.Repeat(" ", blanks))
		n += blanks
	}
	return b.String()
}

// broken breaks one line.
func broken(line string, columns int) (parts []string) {
	start, n, blank, at := 0, 0, -1, 0 // blank: behind which the line may be broken, and its column
	for i, r := range line {
		if wide := cellsOf(r); n+wide > columns {
			end := i
			if blank > start && at*3 >= columns*2 {
				end = blank
			}
			parts = append(parts, line[start:end])
			n, start = Cells(line[end:i]), end
		}
		if n += cellsOf(r); r == ' ' {
			blank, at = i+1, n
		}
	}
	return append(parts, line[start:])
}

// Pad returns a text of exactly so many columns: cut, or with blanks after it. With right
// they are before it.
func Pad(s string, columns int, right bool) string {
	s = Fit(s, columns)
	blanks := strings.Repeat(" ", max(0, columns-Cells(s)))
	if right {
		return blanks + s
	}
	return s + blanks
}

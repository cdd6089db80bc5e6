package terminal

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Cells returns how many columns of a terminal a text takes.
func Cells(s string) int { return ansi.StringWidth(s) }

// Fit returns the beginning of a text that takes at most limit columns, with a
// "…" at its end where some of it is left out.
func Fit(s string, limit int) string { return ansi.Truncate(s, max(limit, 0), "…") }

// FitEnd is Fit for the end of a text.
func FitEnd(s string, limit int) string {
	over := Cells(s) - limit
	switch {
	case over <= 0:
		return s
	case limit < 1:
		return ""
	}
	for cut := over + 1; ; cut++ { // half of a wide character is not cut
		if end := ansi.TruncateLeft(s, cut, "…"); Cells(end) <= limit {
			return end
		}
	}
}

// wrap breaks a text into lines of at most limit columns, at blanks where it can.
func wrap(s string, limit int) []string {
	return strings.Split(ansi.Wrap(strings.Join(strings.Fields(s), " "), max(limit, 1), ""), "\n")
}

// tabStop is how many columns apart the stops of a tab are.
const tabStop = 4

// Lines breaks a text into lines of at most so many columns, at blanks where it can, and
// indents a continuation like its line. Tabs become blanks.
func Lines(text string, columns int) []string {
	columns = max(columns, 2)
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		line = untabbed(line)
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		indent = indent[:min(len(indent), columns/3)]
		for part := range strings.SplitSeq(ansi.Wrap(line[len(indent):], columns-len(indent), ""), "\n") {
			lines = append(lines, indent+part)
		}
	}
	return lines
}

func untabbed(line string) string {
	for i := strings.IndexByte(line, '\t'); i >= 0; i = strings.IndexByte(line, '\t') {
		line = line[:i] + strings.Repeat(" ", tabStop-Cells(line[:i])%tabStop) + line[i+1:]
	}
	return line
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

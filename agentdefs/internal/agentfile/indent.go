package agentfile

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds of a header in which a wrong indentation is looked for.
const (
	maxIndentLines = 150
	maxIndentBytes = 16 << 10
)

// indentFault finds an error in the indentation of a header: the line, from 1,
// the error, and what to do. It reports a line only if the header can be parsed
// with that line indented otherwise. Line 0 means that the fault is another
// one.
func indentFault(text string) (line int, fault, fix string) {
	if len(text) > maxIndentBytes {
		return 0, "", ""
	}
	lines := strings.Split(text, "\n")
	first := 0
	spaced := slices.Clone(lines)
	for i, l := range lines {
		indent := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
		if strings.Contains(indent, "\t") && len(indent) < len(l) {
			spaced[i] = strings.ReplaceAll(indent, "\t", "  ") + l[len(indent):]
			if first == 0 {
				first = i + 1
			}
		}
	}
	if first > 0 {
		_, was := decodeYAML(text)
		if _, err := decodeYAML(strings.Join(spaced, "\n")); err == nil || yamlLine(err) > yamlLine(was) {
			return first, "there is a tab in the indentation", "indent with blanks alone"
		}
		return 0, "", ""
	}
	if len(lines) > maxIndentLines {
		return 0, "", ""
	}
	for i, l := range slices.Backward(lines) {
		rest := strings.TrimLeft(l, " ")
		if rest == "" {
			continue
		}
		have := len(l) - len(rest)
		last := before(lines[:i])
		for _, want := range []int{last, last + 2, next(lines[i+1:]), 0} {
			if want < 0 || want == have {
				continue
			}
			lines[i] = strings.Repeat(" ", want) + rest
			if _, err := decodeYAML(strings.Join(lines, "\n")); err == nil {
				return i + 1, "the indentation is wrong", fmt.Sprintf("indent this line by %d blanks, not %d", want, have)
			}
		}
		lines[i] = l
	}
	return 0, "", ""
}

// before returns the indentation of the last line that is not blank, or -1.
func before(lines []string) int {
	for _, l := range slices.Backward(lines) {
		if rest := strings.TrimLeft(l, " "); rest != "" {
			return len(l) - len(rest)
		}
	}
	return -1
}

// next returns the indentation of the first line that is not blank, or -1.
func next(lines []string) int {
	for _, l := range lines {
		if rest := strings.TrimLeft(l, " "); rest != "" {
			return len(l) - len(rest)
		}
	}
	return -1
}

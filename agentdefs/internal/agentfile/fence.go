package agentfile

import (
	"strings"
)

// OpenFence returns the line, from 0, and the fence of a fenced code block that
// the Markdown in text does not close. The fence is empty if all are closed.
func OpenFence(text string) (line int, fence string) {
	if !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		return 0, ""
	}
	return fences(text, nil)
}

// Prose calls line for each line of the Markdown in text that is in no fenced code
// block. Lines are counted from 0.
func Prose(text string, line func(i int, s string)) { fences(text, line) }

// fences looks at the lines of text. prose may be nil. It returns what [OpenFence]
// does.
//
// It follows CommonMark. A fence is indented by at most three columns within
// its list item. A fence of the same character closes it, if it is at least as
// long and the rest of its line is blank. Backticks are not followed by others
// in the line. Block quotes are skipped, because a fence ends with its quote.
func fences(text string, prose func(i int, s string)) (line int, fence string) {
	var items []int // where the text of each open list item begins
	within := 0     // the same, of the item that the open fence is in
	for i := 0; text != ""; i++ {
		var s string
		s, text, _ = strings.Cut(text, "\n")
		rest := strings.TrimLeft(s, " \t")
		indent := width(s[:len(s)-len(rest)])
		if fence != "" {
			if rest != "" && indent <= within+3 && closes(rest, fence) {
				fence = ""
			}
			continue
		}
		if rest != "" {
			fence, within, items = opens(rest, indent, items)
		}
		if fence != "" {
			line = i
		} else if prose != nil {
			prose(i, s)
		}
	}
	return line, fence
}

// opens returns the fence that rest, a line without its indentation, opens, or "", the
// place where the text of its list item begins, and the list items that are open then.
func opens(rest string, indent int, items []int) (fence string, within int, open []int) {
	for len(items) > 0 && indent < items[len(items)-1] {
		items = items[:len(items)-1]
	}
	if len(items) > 0 {
		within = items[len(items)-1]
	}
	for indent <= within+3 {
		n := listMarker(rest)
		if n == 0 {
			break
		}
		indent += width(rest[:n])
		rest = rest[n:]
		within = indent
		items = append(items, within)
	}
	if indent <= within+3 {
		fence = opening(rest)
	}
	return fence, within, items
}

// listMarker returns the length of the "- " or "1. " that begins a list item at
// the start of rest, with the blanks after it. It is 0 if no item begins there.
func listMarker(rest string) int {
	n := 0
	for n < len(rest) && n < 9 && rest[n] >= '0' && rest[n] <= '9' {
		n++
	}
	marks := ".)"
	if n == 0 {
		marks = "-*+"
	}
	if n == len(rest) || strings.IndexByte(marks, rest[n]) < 0 {
		return 0
	}
	n++
	end := len(rest) - len(strings.TrimLeft(rest[n:], " \t"))
	if end == n && end < len(rest) {
		return 0
	}
	return end
}

// opening returns the fence that rest, a line without its indentation, opens, or
// "".
func opening(rest string) string {
	if rest == "" || rest[0] != '`' && rest[0] != '~' {
		return ""
	}
	info := strings.TrimLeft(rest, rest[:1])
	n := len(rest) - len(info)
	if n < 3 || rest[0] == '`' && strings.Contains(info, "`") {
		return ""
	}
	return rest[:n]
}

// closes reports whether rest, a line without its indentation, closes fence.
func closes(rest, fence string) bool {
	rest = strings.TrimRight(rest, " \t\r")
	return len(rest) >= len(fence) && strings.Trim(rest, fence[:1]) == ""
}

// width returns the columns of s, with tab stops of four.
func width(s string) int {
	n := 0
	for _, r := range s {
		if r == '\t' {
			n += 4 - n%4
		} else {
			n++
		}
	}
	return n
}

package offlinemodel

import (
	"fmt"
	"path"
	"strings"
)

func at(p place) string { return fmt.Sprintf("%s:%d", p.path, p.line) }

// shorten returns a line as a list shows it.
func shorten(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxShownLine {
		return string(r[:maxShownLine]) + "…"
	}
	return s
}

// code writes s as inline code of Markdown.
func code(s string) string {
	if s == "" {
		return "` `"
	}
	ticks := strings.Repeat("`", longestRun(s)+1)
	if len(ticks) > 1 {
		return ticks + " " + s + " " + ticks
	}
	return ticks + s + ticks
}

// fenced writes lines as a code block.
func fenced(file, text string) string {
	fence := strings.Repeat("`", max(3, longestRun(text)+1))
	lang := extension(file)
	if strings.ContainsFunc(lang, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		lang = ""
	}
	if path.Base(file) == "Makefile" {
		lang = "make"
	}
	return fence + lang + "\n" + text + "\n" + fence
}

// longestRun returns how many backticks in a row s has at most.
func longestRun(s string) int {
	longest, run := 0, 0
	for _, r := range s {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

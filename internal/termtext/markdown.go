package termtext

import "strings"

// Fenced returns text as a code block of Markdown.
func Fenced(language, text string) string {
	fence := strings.Repeat("`", max(3, longestRun(text)+1))
	return fence + language + "\n" + strings.TrimRight(LineEnds(text), "\n") + "\n" + fence + "\n"
}

// Code returns text as a code span of Markdown, on one line.
func Code(text string) string {
	text = OneLine(LineEnds(text), 2000)
	if text == "" {
		return ""
	}
	ticks := strings.Repeat("`", longestRun(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " " // which the span takes off
	}
	return ticks + text + ticks
}

// LineEnds makes every line end of Markdown a line feed.
func LineEnds(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

// longestRun returns the length of the longest run of backticks.
func longestRun(text string) int {
	longest, run := 0, 0
	for _, r := range text {
		run++
		if r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

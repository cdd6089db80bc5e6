package headtail

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Plain returns what a person would see of a text on a terminal at its end: without colours
// and other escape sequences, each line as it was written last where a carriage return or
// backspaces have overwritten it.
func Plain(text string) string {
	if !strings.ContainsAny(text, "\x1b\r\b\a\u009b\u009d\u0090") {
		return text
	}
	text = strings.ReplaceAll(ansi.Strip(c1.Replace(text)), "\r\n", "\n")
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, end := strings.CutSuffix(line, "\n")
		b.WriteString(overwritten(line))
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// c1 writes the controls of one character as those of two, which terminals take for the same.
var c1 = strings.NewReplacer("\u0090", "\x1bP", "\u009b", "\x1b[", "\u009c", "\x1b\\", "\u009d", "\x1b]")

// overwritten returns what is seen of a line.
func overwritten(line string) string {
	line = strings.TrimRight(line, "\r")
	line = line[strings.LastIndexByte(line, '\r')+1:]
	if !strings.ContainsAny(line, "\b\a") {
		return line
	}
	var seen []rune
	for _, r := range line {
		switch {
		case r == '\b':
			seen = seen[:max(0, len(seen)-1)]
		case r != '\a':
			seen = append(seen, r)
		}
	}
	return string(seen)
}

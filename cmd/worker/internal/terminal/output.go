// Package terminal shows things to a person at a terminal: a live line, colours,
// and tables that fit.
package terminal

import (
	"os"

	"golang.org/x/term"
)

// Output says what may be done on an output.
type Output struct {
	Redraws bool // escapes are understood
	Colors  bool
	Columns func() int // 80 where it is not known; nil means no terminal
}

// Of looks at an output and the environment. NO_COLOR (no-color.org)
// takes the colours, TERM=dumb all escapes.
func Of(f *os.File, getenv func(string) string) Output {
	if f == nil || !term.IsTerminal(int(f.Fd())) {
		return Output{}
	}
	t := Output{Columns: func() int {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
		return 80
	}}
	t.Redraws = getenv("TERM") != "dumb" && getenv("TERM") != ""
	t.Colors = t.Redraws && getenv("NO_COLOR") == ""
	return t
}

// Same reports whether two outputs lead to the same place.
func Same(a, b *os.File) bool {
	first, err := a.Stat()
	if err != nil {
		return false
	}
	second, err := b.Stat()
	return err == nil && os.SameFile(first, second)
}

// Color is a terminal's escape for one.
type Color string

// The colours in use.
const (
	Red    Color = "\x1b[31m"
	Green  Color = "\x1b[32m"
	Yellow Color = "\x1b[33m"
	Dim    Color = "\x1b[2m"
)

// IsTerminal reports whether the output is a terminal.
func (t Output) IsTerminal() bool { return t.Columns != nil }

// Paint colours a text where the terminal can.
func (t Output) Paint(c Color, text string) string {
	if !t.Colors || c == "" || text == "" {
		return text
	}
	return string(c) + text + "\x1b[0m"
}

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
	Rows    func() int // 24 where it is not known; nil means no terminal
}

// Of looks at an output and the environment. TERM=dumb takes all escapes from a terminal.
// Colours are for terminals, unless the environment says otherwise: see [colored].
func Of(f *os.File, getenv func(string) string) Output {
	var t Output
	if f != nil && term.IsTerminal(int(f.Fd())) {
		size := func() (columns, rows int) {
			columns, rows, err := term.GetSize(int(f.Fd()))
			if err != nil || columns <= 0 || rows <= 0 {
				return 80, 24
			}
			return columns, rows
		}
		t.Columns = func() int { columns, _ := size(); return columns }
		t.Rows = func() int { _, rows := size(); return rows }
		t.Redraws = getenv("TERM") != "dumb" && getenv("TERM") != ""
	}
	t.Colors = colored(t.Redraws, getenv)
	return t
}

// colored reports whether there are colours on an output. NO_COLOR (no-color.org) takes
// them, whatever its value; CLICOLOR_FORCE (bixense.com/clicolors) has them in a pipe and
// a dumb terminal too, and CLICOLOR=0 on none.
func colored(redraws bool, getenv func(string) string) bool {
	forced := getenv("CLICOLOR_FORCE")
	switch {
	case getenv("NO_COLOR") != "":
		return false
	case forced != "" && forced != "0":
		return true
	}
	return redraws && getenv("CLICOLOR") != "0"
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

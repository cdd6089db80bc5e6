package main

import (
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// screen is stderr. On a terminal that can take a line back, a live line may
// stand below what was written; whatever is written next takes its place.
type screen struct {
	out     io.Writer
	redraws bool       // a line can be taken back
	columns func() int // of the terminal

	mu   sync.Mutex
	live string // what stands there
}

const clearLine = "\r\x1b[K"

// Write implements [io.Writer].
func (s *screen) Write(p []byte) (int, error) { return s.writeTo(s.out, p) }

func (s *screen) writeTo(w io.Writer, p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.take(); err != nil {
		return 0, err
	}
	return w.Write(p)
}

// take takes the live line away.
func (s *screen) take() error {
	if s.live == "" {
		return nil
	}
	s.live = ""
	_, err := io.WriteString(s.out, clearLine)
	return err
}

// show puts a text, cut to the terminal's width, in place of the live line;
// empty: none.
func (s *screen) show(text string) {
	if !s.redraws {
		return
	}
	text = fit(text, s.columns()-1) // a full line would move the cursor on
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == s.live {
		return
	}
	if text == "" {
		_ = s.take() // a display is not the place to fail
		return
	}
	_, _ = io.WriteString(s.out, clearLine+text)
	s.live = text
}

// beside is another output that may be the same terminal.
type beside struct {
	*screen
	out io.Writer
}

// Write implements [io.Writer].
func (b beside) Write(p []byte) (int, error) { return b.writeTo(b.out, p) }

// terminal says what may be done on an output.
type terminal struct {
	redraws bool // escapes are understood
	colors  bool
	columns func() int // 80 where it is not known; nil: no terminal
}

// newTerminal looks at an output and the environment. NO_COLOR (no-color.org)
// takes the colours, TERM=dumb all escapes.
func newTerminal(f *os.File, getenv func(string) string) terminal {
	if f == nil || !term.IsTerminal(int(f.Fd())) {
		return terminal{}
	}
	t := terminal{columns: func() int {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
		return 80
	}}
	t.redraws = getenv("TERM") != "dumb" && getenv("TERM") != ""
	t.colors = t.redraws && getenv("NO_COLOR") == ""
	return t
}

// sameOutput reports whether two outputs lead to the same place.
func sameOutput(a, b *os.File) bool {
	first, err := a.Stat()
	if err != nil {
		return false
	}
	second, err := b.Stat()
	return err == nil && os.SameFile(first, second)
}

// color is a terminal's escape for one.
type color string

// The colours in use.
const (
	red    color = "\x1b[31m"
	green  color = "\x1b[32m"
	yellow color = "\x1b[33m"
	dim    color = "\x1b[2m"
)

// is reports whether the output is a terminal.
func (t terminal) is() bool { return t.columns != nil }

// paint colours a text where the terminal can.
func (t terminal) paint(c color, text string) string {
	if !t.colors || c == "" || text == "" {
		return text
	}
	return string(c) + text + "\x1b[0m"
}

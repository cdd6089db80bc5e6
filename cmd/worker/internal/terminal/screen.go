package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// Screen is stderr. On a terminal that can redraw, live lines may follow the output; the
// next output replaces them.
//
// The cursor is at the beginning of the first live line. Everything from there is erased or
// drawn over. So it makes no difference how a terminal has broken the lines after a resize.
type Screen struct {
	Output
	out io.Writer

	mu     sync.Mutex
	live   []string // the live lines that are shown
	hidden bool     // none may be shown
}

// NewScreen returns a screen that writes to out. output says what out can show.
func NewScreen(out io.Writer, output Output) *Screen { return &Screen{Output: output, out: out} }

const (
	clearBelow = "\r\x1b[J" // erases the live lines
	clearRest  = "\x1b[K"
	noWrap     = "\x1b[?7l" // a line that is wider than it was computed stays one line
	wrapAgain  = "\x1b[?7h"
)

// Write implements [io.Writer].
func (s *Screen) Write(p []byte) (int, error) { return s.writeTo(s.out, p) }

func (s *Screen) writeTo(w io.Writer, p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.clear(); err != nil {
		return 0, err
	}
	return w.Write(p)
}

// clear removes the live lines.
func (s *Screen) clear() error {
	if len(s.live) == 0 {
		return nil
	}
	s.live = nil
	_, err := io.WriteString(s.out, clearBelow)
	return err
}

// Show replaces the live lines. Each is cut to the terminal's width, and one row is left to
// other output. Without lines the live ones are removed.
func (s *Screen) Show(lines ...string) {
	if !s.Redraws {
		return
	}
	width := s.Columns() - 1 // a full line would move the cursor on
	lines = slices.Clone(lines[:min(len(lines), s.Room())])
	for i := range lines {
		lines[i] = Fit(lines[i], width)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hidden || slices.Equal(lines, s.live) {
		return
	}
	if len(lines) == 0 {
		_ = s.clear() // a display is not the place to fail
		return
	}
	text := noWrap + "\r" + strings.Join(lines, clearRest+"\r\n") + clearRest + "\x1b[J" + wrapAgain
	if up := len(lines) - 1; up > 0 {
		text += fmt.Sprintf("\x1b[%dA", up)
	}
	_, _ = io.WriteString(s.out, text+"\r")
	s.live = lines
}

// Room is how many live lines fit on the terminal.
func (s *Screen) Room() int { return max(1, s.Rows()-1) }

// Hide removes the live lines, and prevents others until Unhide.
func (s *Screen) Hide() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.clear() // a display is not the place to fail
	s.hidden = true
}

// Unhide ends Hide.
func (s *Screen) Unhide() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden = false
}

// Share returns another output to the same terminal: writing to it removes the live lines
// first.
func (s *Screen) Share(out io.Writer) io.Writer { return sharedOutput{s, out} }

type sharedOutput struct {
	*Screen
	out io.Writer
}

// Write implements [io.Writer].
func (b sharedOutput) Write(p []byte) (int, error) { return b.writeTo(b.out, p) }

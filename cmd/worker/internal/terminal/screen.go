package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// Screen is stderr. On a terminal that can take lines back, live lines may stand below
// what was written; whatever is written next takes their place.
//
// The cursor stands at the beginning of the first live line. All from there on is
// erased or drawn over, so nothing has to be known of how a terminal that was resized
// has broken the lines anew.
type Screen struct {
	Output
	out io.Writer

	mu     sync.Mutex
	live   []string // what stands there
	hidden bool     // nothing may stand there
}

// NewScreen returns a screen that writes to out. output says what out can show.
func NewScreen(out io.Writer, output Output) *Screen { return &Screen{Output: output, out: out} }

const (
	clearBelow = "\r\x1b[J" // erases the live lines
	clearRest  = "\x1b[K"
	noWrap     = "\x1b[?7l" // a line that takes more columns than was thought stays one line
	wrapAgain  = "\x1b[?7h"
)

// Write implements [io.Writer].
func (s *Screen) Write(p []byte) (int, error) { return s.writeTo(s.out, p) }

func (s *Screen) writeTo(w io.Writer, p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.take(); err != nil {
		return 0, err
	}
	return w.Write(p)
}

// take takes the live lines away.
func (s *Screen) take() error {
	if len(s.live) == 0 {
		return nil
	}
	s.live = nil
	_, err := io.WriteString(s.out, clearBelow)
	return err
}

// Show puts lines in place of the live ones: each cut to the terminal's width, and as
// many as leave a row of it to what was written. None takes the live lines away.
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
		_ = s.take() // a display is not the place to fail
		return
	}
	text := noWrap + "\r" + strings.Join(lines, clearRest+"\r\n") + clearRest + "\x1b[J" + wrapAgain
	if up := len(lines) - 1; up > 0 {
		text += fmt.Sprintf("\x1b[%dA", up)
	}
	_, _ = io.WriteString(s.out, text+"\r")
	s.live = lines
}

// Room is how many live lines the terminal holds.
func (s *Screen) Room() int { return max(1, s.Rows()-1) }

// Hide takes the live lines away, and has none stand there until Unhide.
func (s *Screen) Hide() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.take() // a display is not the place to fail
	s.hidden = true
}

// Unhide ends Hide.
func (s *Screen) Unhide() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden = false
}

// Beside returns another output that may be the same terminal.
func (s *Screen) Beside(out io.Writer) io.Writer { return beside{s, out} }

type beside struct {
	*Screen
	out io.Writer
}

// Write implements [io.Writer].
func (b beside) Write(p []byte) (int, error) { return b.writeTo(b.out, p) }

package terminal

import (
	"io"
	"sync"
)

// Screen is stderr. On a terminal that can take a line back, a live line may
// stand below what was written; whatever is written next takes its place.
type Screen struct {
	Output
	out io.Writer

	mu   sync.Mutex
	live string // what stands there
}

// NewScreen returns a screen that writes to out. output says what out can show.
func NewScreen(out io.Writer, output Output) *Screen { return &Screen{Output: output, out: out} }

const clearLine = "\r\x1b[K"

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

// take takes the live line away.
func (s *Screen) take() error {
	if s.live == "" {
		return nil
	}
	s.live = ""
	_, err := io.WriteString(s.out, clearLine)
	return err
}

// Show puts a text, cut to the terminal's width, in place of the live line. An
// empty text takes the line away.
func (s *Screen) Show(text string) {
	if !s.Redraws {
		return
	}
	text = Fit(text, s.Columns()-1) // a full line would move the cursor on
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

// Beside returns another output that may be the same terminal.
func (s *Screen) Beside(out io.Writer) io.Writer { return beside{s, out} }

type beside struct {
	*Screen
	out io.Writer
}

// Write implements [io.Writer].
func (b beside) Write(p []byte) (int, error) { return b.writeTo(b.out, p) }

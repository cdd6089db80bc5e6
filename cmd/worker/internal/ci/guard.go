package ci

import (
	"bytes"
	"io"
	"sync"
)

// Guard returns a writer to w that lets no command through: it sets a blank into the signs
// that begin one. It changes nothing else and delays nothing.
func Guard(w io.Writer) io.Writer { return &guard{w: w, start: true, broken: " ["} }

// JSON returns a writer for JSON documents. If w is a [Guard], it escapes the signs that
// begin a command in JSON's way, so the document stays the same.
func JSON(w io.Writer) io.Writer {
	if g, ok := w.(*guard); ok {
		return &guard{w: g.w, start: true, broken: `\u005b`}
	}
	return w
}

// Raw returns the writer below a [Guard], for the commands of this program itself.
func Raw(w io.Writer) io.Writer {
	if g, ok := w.(*guard); ok {
		return g.w
	}
	return w
}

// guard remembers what of the current line could begin a command.
type guard struct {
	w      io.Writer
	broken string // replaces the bracket of "##["

	mu     sync.Mutex
	start  bool // only blanks and one colon of the line were written
	colon  bool // the last byte was a colon, at the start
	hashes int  // "#" that were written one behind the other, 2 at most; then letters may have followed
	word   bool // letters have followed
}

// Write implements [io.Writer].
func (g *guard) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out bytes.Buffer
	for _, c := range p {
		switch {
		case c == ':' && g.start && g.colon:
			out.WriteByte(' ')
		case c == '[' && g.hashes == 2:
			out.WriteString(g.broken)
			g.note(c)
			continue
		}
		out.WriteByte(c)
		g.note(c)
	}
	if _, err := g.w.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// note takes account of a byte.
func (g *guard) note(c byte) {
	switch {
	case c == '\n' || c == '\r':
		g.start, g.colon = true, false
	case c == ':' && g.start && !g.colon:
		g.colon = true
	case g.colon || !blank(c):
		g.start, g.colon = false, false
	}
	switch {
	case c == '#' && !g.word:
		g.hashes = min(g.hashes+1, 2)
	case c == '#':
		g.hashes, g.word = 1, false
	case g.hashes == 2 && ('a' <= c|0x20 && c|0x20 <= 'z'):
		g.word = true
	default:
		g.hashes, g.word = 0, false
	}
}

// blank reports whether GitHub may cut a byte off: it cuts off all of Unicode's blanks.
func blank(c byte) bool { return c <= ' ' || c >= 0x7f }

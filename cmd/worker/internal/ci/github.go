package ci

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"

	"github.com/agentworker/worker/internal/termtext"
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

// guard remembers the part of the current line that could begin a command.
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

// What a command escapes in its message and, besides, in the value of a property.
var (
	escapeMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// Location is what an annotation stands beside. A line or column of 0 is not told.
type Location struct {
	File         string // as the repository has it
	Line, Column int
}

// Annotation returns the command that shows a message beside a place of a pull request.
// level is error, warning or notice. Any text may be in the rest: it stays one line.
func Annotation(level string, at Location, title, message string) string {
	properties := "file=" + property(at.File)
	if at.Line > 0 {
		properties += fmt.Sprintf(",line=%d", at.Line)
	}
	if at.Column > 0 {
		properties += fmt.Sprintf(",col=%d", at.Column)
	}
	return fmt.Sprintf("::%s %s,title=%s::%s", level, properties, property(title), brackets(escapeMessage.Replace(termtext.OneLine(message, termtext.MaxText))))
}

// property escapes the value of a property, and what else controls a terminal.
func property(s string) string {
	var b strings.Builder
	for _, r := range escapeProperty.Replace(s) {
		if unicode.IsControl(r) {
			fmt.Fprintf(&b, "%%%02X", r)
		} else {
			b.WriteRune(r)
		}
	}
	return brackets(b.String())
}

// brackets keeps a text from having a command of the older form: no "#" follows another one.
func brackets(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "##", "# #"), "##", "# #") // of three the third follows what the first pass wrote
}

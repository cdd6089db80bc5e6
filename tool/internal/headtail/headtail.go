// Package headtail keeps the two ends of a long output.
package headtail

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/agentworker/worker/internal/termtext"
)

// Buffer keeps the beginning and the end of what is written to it, in
// constant memory: half of the limit each.
type Buffer struct {
	Limit int

	mu     sync.Mutex
	head   []byte
	tail   []byte // the last ones, up to twice as many as are shown
	total  int64
	onward io.Writer // where the rest goes; nil means that it is kept
}

// Write implements [io.Writer]. It never fails.
func (h *Buffer) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(p)
	if h.onward != nil {
		_, _ = h.onward.Write(p) // without a reader nothing is read
		return n, nil
	}
	h.total += int64(n)
	half := h.Limit / 2
	if room := half - len(h.head); room > 0 {
		take := min(room, len(p))
		h.head = append(h.head, p[:take]...)
		p = p[take:]
	}
	if len(p) > half {
		p = p[len(p)-half:]
	}
	if len(h.tail)+len(p) > 2*half {
		keep := h.tail[max(0, len(h.tail)-half):]
		h.tail = h.tail[:copy(h.tail, keep)]
	}
	h.tail = append(h.tail, p...)
	return n, nil
}

// ReadFrom implements [io.ReaderFrom].
func (h *Buffer) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{h}, r)
}

// Redirect writes to w all that is kept, byte for byte, and then all that is written. A line says how
// much between the two ends is lost. It returns once w has the first.
func (h *Buffer) Redirect(w io.Writer) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.onward = w
	all := bytes.Clone(h.head)
	if lost := h.total - int64(len(h.head)+len(h.tail)); lost > 0 {
		all = fmt.Appendf(all, "\n[… %d bytes of the output are lost here: they came before the command went to the background …]\n", lost)
	}
	_, err := w.Write(append(all, h.tail...))
	return err
}

// Text returns what was written, ending with a line end unless it is empty, and
// whether its middle was cut out, which it says.
func (h *Buffer) Text() (text string, cut bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	half := h.Limit / 2
	head, tail := h.head, h.tail[max(0, len(h.tail)-half):]
	if cut = h.total > int64(len(head)+len(tail)); cut {
		head = termtext.Head(head, lineEnd(head))
		tail = tail[lineStart(tail):]
	}
	var b strings.Builder
	write := func(part []byte) (replaced bool) {
		valid := bytes.ToValidUTF8(part, []byte("\uFFFD"))
		b.Write(valid)
		return !utf8.Valid(part)
	}
	var replaced bool
	if cut {
		replaced = write(head)
		fmt.Fprintf(&b, "\n[… %d bytes left out: to see them, write the output to a file and read that in parts …]\n", h.total-int64(len(head)+len(tail)))
		replaced = write(tail) || replaced
	} else {
		replaced = write(append(bytes.Clone(head), tail...)) // they may share a character
	}
	if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
		b.WriteByte('\n')
	}
	if replaced {
		b.WriteString("(bytes that are not UTF-8 are shown as \uFFFD)\n")
	}
	return b.String(), cut
}

// lineEnd returns where the last whole line of b ends, or len(b) less what is
// surely no whole character if b is a single line.
func lineEnd(b []byte) int {
	if i := bytes.LastIndexByte(b, '\n'); i > 0 {
		return i
	}
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i:]; utf8.RuneStart(c[0]) {
			if !utf8.FullRune(c) {
				return len(b) - i
			}
			break
		}
	}
	return len(b)
}

// lineStart returns where the first whole line of b begins, or the first
// character if b is a single line.
func lineStart(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 && i < len(b)-1 {
		return i + 1
	}
	i := 0
	for i < min(utf8.UTFMax-1, len(b)) && !utf8.RuneStart(b[i]) {
		i++
	}
	return i
}

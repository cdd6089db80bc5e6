package tool

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
)

// output collects the lines of a result up to the bounds of the workspace, and
// the notes below them, which always find room.
type output struct {
	text     strings.Builder
	bytes    int // what is left
	lines    int // what is left
	full     bool
	replaced bool
	notes    []string
}

func (ws *Workspace) newOutput() *output {
	return &output{bytes: ws.opts.MaxOutputBytes, lines: ws.opts.MaxOutputLines}
}

// line adds a line, unless it does not fit: then it returns false, and so does
// every call after it. The first line fits always, cut if it must be.
func (o *output) line(s string) bool {
	if valid := strings.ToValidUTF8(s, "\uFFFD"); valid != s {
		s, o.replaced = valid, true
	}
	if o.text.Len() == 0 && len(s) >= o.bytes {
		s = termtext.Head(s, o.bytes-1)
	}
	if o.full = o.full || o.lines < 1 || len(s)+1 > o.bytes; o.full {
		return false
	}
	o.text.WriteString(s)
	o.text.WriteByte('\n')
	o.lines--
	o.bytes -= len(s) + 1
	return true
}

// note adds a remark in parentheses below the lines.
func (o *output) note(format string, args ...any) {
	o.notes = append(o.notes, "("+fmt.Sprintf(format, args...)+")\n")
}

// result puts lines and notes together, the last line end left out.
func (o *output) result() Result {
	if o.replaced {
		o.note("bytes that are not UTF-8 are shown as \uFFFD")
	}
	text := o.text.String() + strings.Join(o.notes, "")
	return Result{Text: strings.TrimSuffix(text, "\n"), Truncated: o.full}
}

// leftOut notes results that the session may not see, without naming them.
func (o *output) leftOut(n int) {
	switch {
	case n == 1:
		o.note("1 result left out: this agent may not read its file")
	case n > 1:
		o.note("%d results left out: this agent may not read their files", n)
	}
}

// showSize returns a number of bytes for people.
func showSize(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n)/(1<<10), 0
	for size >= 1<<10 && unit < 4 {
		size /= 1 << 10
		unit++
	}
	return fmt.Sprintf("%.1f %ciB", size, "KMGTP"[unit])
}

// binaryHead is how much of a file is looked at to tell whether it is binary.
const binaryHead = 8 << 10

// isBinary reports whether a file that begins with head is binary: a NUL is in
// its first 8 KiB, as git has it.
func isBinary(head []byte) bool {
	return bytes.IndexByte(head[:min(len(head), binaryHead)], 0) >= 0
}

// utf8BOM may begin a text file; it is not part of the text.
var utf8BOM = []byte("\uFEFF")

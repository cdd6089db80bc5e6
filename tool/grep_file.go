package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/tool/internal/charset"
	"github.com/agentworker/worker/tool/internal/linematch"
	"github.com/agentworker/worker/tool/internal/rootfs"
)

// The bytes of a line that grep shows: before the match, and in all.
const (
	showBefore = 100
	showLine   = 500
)

// fileSearch searches one file after the other. It is safe for concurrent use.
type fileSearch struct {
	links   *links
	ws      *Workspace
	matcher *linematch.Matcher
	context int // lines before and after a match
	limit   int // matches that are wanted; one more is found, to tell that there are more
}

// grepLine is a line of the result.
type grepLine struct {
	number int
	text   string
	match  bool // or context
	gap    bool // it does not follow on the line before it
}

// show returns the line as results have it, after the mark of a gap.
func (l grepLine) show(path string) string {
	switch path = rootfs.Show(path); {
	case l.match:
		return fmt.Sprintf("%s:%d: %s", path, l.number, l.text)
	default:
		return fmt.Sprintf("%s-%d- %s", path, l.number, l.text)
	}
}

// Why a file was not searched.
var (
	errBinary     = errors.New("binary")
	errTooLarge   = errors.New("over the size limit")
	errUnreadable = errors.New("cannot be read")
	errHidden     = errors.New("the session may not see it") // by another of its names
)

// found is what a search of one file has found, or why there was none: one of
// the errors above.
type found struct {
	path  string
	lines []grepLine
	err   error

	leftOut int // by the walk, before this file
}

// buffers hold the content of files, one for each worker.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// file searches the file at path.
func (s *fileSearch) file(ctx context.Context, path string) found {
	f, info, err := s.ws.files.OpenFile(path)
	if err != nil {
		return found{path: path, err: errUnreadable}
	}
	defer f.Close()
	if s.links.check(toolcatalog.ReadFile, path, info) != nil {
		return found{path: path, err: errHidden}
	}
	limit := s.ws.opts.MaxFileBytes
	if info.Size() > limit {
		return found{path: path, err: errTooLarge}
	}
	buf := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buf)
	buf.Reset()
	buf.Grow(int(info.Size()) + bytes.MinRead)
	switch n, err := io.Copy(buf, io.LimitReader(f, limit+1)); {
	case err != nil:
		return found{path: path, err: errUnreadable}
	case n > limit:
		return found{path: path, err: errTooLarge}
	}
	text, _, ok := charset.Decode(buf.Bytes())
	if !ok {
		return found{path: path, err: errBinary}
	}
	return found{path: path, lines: s.lines(ctx, bytes.TrimPrefix(text, utf8BOM))}
}

// lines returns the lines of text that match and those around them.
func (s *fileSearch) lines(ctx context.Context, text []byte) []grepLine {
	var out []grepLine
	next, number := 0, 1 // the first line that is not in out, nor left behind
	matches, after := 0, 0
	add := func(line []byte, from int, match bool) {
		out = append(out, grepLine{number: number, text: cutAround(line, from), match: match})
		number++
	}
	for at := 0; matches <= s.limit && ctx.Err() == nil; {
		start, from := s.matcher.Next(ctx, text, at)
		if start < 0 {
			break
		}
		// The context after the match before this one.
		for ; after > 0 && next < start; after-- {
			line, following := linematch.LineAt(text, next)
			add(line, 0, false)
			next = following
		}
		// The context before this match.
		first := start
		for range s.context {
			if first <= next {
				break
			}
			first = bytes.LastIndexByte(text[:first-1], '\n') + 1
		}
		first = max(first, next)
		gap := first > next && len(out) > 0
		number += bytes.Count(text[next:first], []byte{'\n'})
		begin := len(out)
		for next = first; next < start; {
			line, following := linematch.LineAt(text, next)
			add(line, 0, false)
			next = following
		}
		line, following := linematch.LineAt(text, start)
		add(line, from, true)
		out[begin].gap = gap
		matches++
		next, at, after = following, following, s.context
	}
	for ; after > 0 && next < len(text) && matches <= s.limit; after-- {
		line, following := linematch.LineAt(text, next)
		add(line, 0, false)
		next = following
	}
	return out
}

// cutAround returns a copy of a line, cut if it is long to what is around the
// match that begins at line[from].
func cutAround(line []byte, from int) string {
	if len(line) <= showLine {
		return string(line)
	}
	var b strings.Builder
	if from -= showBefore; from > 0 {
		for i := 0; i < utf8.UTFMax-1 && !utf8.RuneStart(line[from]); i++ {
			from++
		}
		b.WriteString("…")
	}
	rest := line[max(from, 0):]
	shown := termtext.Head(rest, showLine)
	b.Write(shown)
	if len(shown) < len(rest) {
		b.WriteString("…")
	}
	return b.String()
}

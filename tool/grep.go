package tool

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/agentworker/worker/internal/fileglob"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool/internal/charset"
	"github.com/agentworker/worker/tool/internal/linematch"
	"github.com/agentworker/worker/tool/internal/rootfs"
)

type grepArgs struct {
	Pattern    string `json:"pattern" jsonschema:"The regular expression to search for, in Go's RE2 syntax, matched against each line: func\\s+\\w+\\(. Backslashes take the meaning from . ( ) [ ] { } * + ? | ^ $."`
	Path       string `json:"path,omitempty" jsonschema:"The folder or file to search. Default: the workspace itself."`
	Include    string `json:"include,omitempty" jsonschema:"Search only files whose path below path matches this glob, such as *.go or src/**/*.{ts,tsx}."`
	IgnoreCase bool   `json:"ignoreCase,omitempty" jsonschema:"Let upper and lower case match each other. Default: false."`
	Context    int    `json:"context,omitempty" jsonschema:"How many lines to show before and after each match, at most 20. Default: 0."`
	Limit      int    `json:"limit,omitempty" jsonschema:"Stop after this many matching lines. Leave it out to see as many as one result holds."`
}

const (
	maxContext  = 20
	grepWorkers = 4 // at most; they wait for the disk more than they compute
)

func grepFiles(ws *Workspace) Tool {
	return &function[grepArgs]{
		spec: Spec{
			Name: toolcatalog.Grep,
			Description: fmt.Sprintf("Searches the content of the workspace's text files for a regular expression. "+
				"Gives each matching line as path:line: text, grouped by file in path order; lines of context come as path-line- text, with -- between groups. "+
				"Up to %d matches; long lines are cut around the match. Skips .git, what .gitignore names, binary files and files over %s; "+
				"a path that is itself ignored is searched.", ws.opts.MaxMatches, showSize(ws.opts.MaxFileBytes)),
			InputSchema: schemaFor[grepArgs](),
			ReadOnly:    true,
			Local:       true,
		},
		values: func(a grepArgs) ([]permission.Value, error) {
			return ws.pathValues(toolcatalog.Grep, a.Path)
		},
		describe: func(call *Call, a grepArgs) Description {
			return DescribeArguments("search the files of "+cmp.Or(a.Path, "."), call.Args, "path")
		},
		run: func(ctx context.Context, call *Call, a grepArgs) (Result, error) {
			return ws.grep(ctx, call, a)
		},
	}
}

func (ws *Workspace) grep(ctx context.Context, call *Call, a grepArgs) (Result, error) {
	if a.Context < 0 || a.Limit < 0 {
		return Result{}, fmt.Errorf("context and limit cannot be negative, got context=%d, limit=%d", a.Context, a.Limit)
	}
	m, err := linematch.Compile(a.Pattern, a.IgnoreCase)
	if err != nil {
		return Result{}, err
	}
	w, err := ws.newWalker(call, a.Path)
	if err != nil {
		return Result{}, err
	}
	if a.Include != "" && w.info.IsDir() {
		if w.glob, err = fileglob.Compile(a.Include); err != nil {
			return Result{}, fmt.Errorf("include: %w", err)
		}
	}
	limit := ws.opts.MaxMatches
	if a.Limit > 0 {
		limit = min(limit, a.Limit)
	}
	search := &fileSearch{ws: ws, links: &links{ws: ws, call: call}, matcher: m, context: min(a.Context, maxContext), limit: limit}

	out := ws.newOutput()
	total := 0
	leftOut := -1 // by the walk, up to where the results end; it is ahead of them
	skipped := map[error]int{}
	for found := range search.all(ctx, w) {
		if found.err != nil {
			skipped[found.err]++
			continue
		}
		if len(found.lines) > 0 && search.context > 0 && total > 0 {
			out.line("--")
		}
		for _, l := range found.lines {
			if l.gap && search.context > 0 {
				out.line("--")
			}
			if l.match && total == limit {
				out.full = true
			}
			if !out.line(l.show(found.path)) {
				break
			}
			if l.match {
				total++
			}
		}
		if out.full {
			leftOut = found.leftOut
			break
		}
	}
	switch {
	case out.full:
		out.note("the first %s; there are more: narrow the pattern, the path or include", termtext.Plural(total, "match", "matches"))
	case total == 0:
		out.note("no match")
	}
	for _, why := range []error{errBinary, errTooLarge, errUnreadable} {
		if n := skipped[why]; n > 0 {
			out.note("%s skipped: %v", termtext.Plural(n, "file"), why)
		}
	}
	if leftOut >= 0 {
		w.leftOut = leftOut
	}
	w.leftOut += skipped[errHidden]
	w.notes(ctx, out)
	result := out.result()
	result.Meta = map[string]any{"matches": total}
	return result, nil
}

// all searches the files of w with several workers, and yields what they find
// in the order of w. Leaving the loop ends them, and all has waited for them
// when it returns; w may be asked for its notes then.
func (s *fileSearch) all(ctx context.Context, w *walker) func(yield func(found) bool) {
	type job struct {
		path    string
		leftOut int
		done    chan found // takes one without waiting
	}
	return func(yield func(found) bool) {
		ctx, cancel := context.WithCancel(ctx)
		workers := min(grepWorkers, 2*runtime.GOMAXPROCS(0))
		todo := make(chan job, workers)
		inOrder := make(chan job, 16*workers) // how far the search is ahead of the reader
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		wg.Go(func() {
			defer close(inOrder)
			defer close(todo)
			for path := range w.files(ctx) {
				j := job{path, w.leftOut, make(chan found, 1)}
				for _, to := range []chan job{inOrder, todo} {
					select {
					case to <- j:
					case <-ctx.Done():
						return
					}
				}
			}
		})
		for range workers {
			wg.Go(func() {
				for j := range todo {
					j.done <- s.file(ctx, j.path)
				}
			})
		}
		for j := range inOrder {
			select {
			case f := <-j.done:
				f.leftOut = j.leftOut
				if !yield(f) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

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

package tool

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/agentworker/worker/internal/picture"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool/internal/charset"
	"github.com/agentworker/worker/tool/internal/rootfs"
)

type readFileArgs struct {
	Path   string `json:"path" jsonschema:"The file to read: a path relative to the workspace, or an absolute one inside it."`
	Offset int    `json:"offset,omitempty" jsonschema:"The number of the first line to read, counted from 1. Leave it out to begin at the start."`
	Limit  int    `json:"limit,omitempty" jsonschema:"How many lines to read at most. Leave it out to read as much as one result holds."`
}

// maxLineBytes is how much read_file shows of one line.
const maxLineBytes = 2000

func readFile(ws *Workspace) Tool {
	return &function[readFileArgs]{
		spec: Spec{
			Name: toolcatalog.ReadFile,
			Description: fmt.Sprintf("Reads a text file of the workspace. Each line comes as its number, an arrow and its text (%q); "+
				"number and arrow are not part of the file. One result holds up to %d lines or %s; what is cut says how to go on with offset. "+
				"Lines of more than %d bytes are cut. A png, jpeg, gif or webp is shown as a picture. Folders and other binary files are refused.",
				"     1→text", ws.opts.MaxOutputLines, showSize(int64(ws.opts.MaxOutputBytes)), maxLineBytes),
			InputSchema: schemaFor[readFileArgs](),
			ReadOnly:    true,
			Local:       true,
		},
		values: func(a readFileArgs) ([]permission.Value, error) {
			return ws.filePathValues(toolcatalog.ReadFile, a.Path)
		},
		describe: func(call *Call, a readFileArgs) Description {
			return DescribeArguments("read "+a.Path, call.Args, "path")
		},
		run: ws.readLines,
	}
}

func (ws *Workspace) readLines(ctx context.Context, call *Call, a readFileArgs) (Result, error) {
	if a.Offset < 0 || a.Limit < 0 {
		return Result{}, fmt.Errorf("offset and limit are counted from 1, got offset=%d, limit=%d", a.Offset, a.Limit)
	}
	rel, real, err := ws.locateFile(a.Path)
	if err != nil {
		return Result{}, err
	}
	f, info, err := ws.openJudged(call, toolcatalog.ReadFile, real)
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	begin := make([]byte, 512)
	n, err := io.ReadFull(f, begin)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Result{}, rootfs.PathError(rel, err)
	}
	whole := io.MultiReader(bytes.NewReader(begin[:n]), f)
	if picture.Is(begin[:n]) {
		return readPicture(rel, whole)
	}
	sum := sha256.New()
	from, stored, err := ws.decoded(io.TeeReader(whole, sum), info.Size())
	if err != nil {
		return Result{}, rootfs.PathError(rel, err)
	}
	r := &lineReader{r: bufio.NewReaderSize(from, int(min(max(info.Size()+1, binaryHead), 64<<10)))}
	head, err := r.r.Peek(binaryHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return Result{}, rootfs.PathError(rel, err)
	}
	if isBinary(head) && picture.Named(rel) {
		_, err := picture.Read(rootfs.Show(rel), head)
		return Result{}, err
	}
	if isBinary(head) {
		return Result{}, fmt.Errorf("%s is a binary file of %s: it cannot be read as text", rootfs.Show(rel), showSize(info.Size()))
	}
	bom := bytes.HasPrefix(head, utf8BOM)
	if bom {
		_, _ = r.r.Discard(len(utf8BOM)) // cannot fail: they have been peeked
	}

	out := ws.newOutput()
	p := page{first: max(a.Offset, 1), limit: a.Limit, counts: info.Size() <= ws.opts.MaxFileBytes}
	if err := p.read(ctx, r, out); err != nil {
		return Result{}, rootfs.PathError(rel, err)
	}
	if p.counts { // it was read to its end
		ws.changes.Read(call.SessionID, real, hex.EncodeToString(sum.Sum(nil)))
	}
	switch last := p.first + p.shown - 1; {
	case r.number == 0:
		out.note("the file is empty")
	case p.first > r.number:
		return Result{}, fmt.Errorf("offset %d is beyond the end: %s has %s", p.first, rootfs.Show(rel), termtext.Plural(r.number, "line"))
	case p.more && !p.counts:
		out.note("lines %d to %d of a file of %s; go on with offset=%d, or search it with grep", p.first, last, showSize(info.Size()), last+1)
	case p.more:
		out.note("lines %d to %d of %d; go on with offset=%d", p.first, last, r.number, last+1)
	}
	if p.long > 0 {
		out.note("%s cut after %d bytes; grep shows what is around a match", termtext.Plural(p.long, "long line"), maxLineBytes)
	}
	if p.crlf {
		out.note("the lines end in CRLF; edit_file keeps that")
	}
	if !stored.IsUTF8() {
		out.note("the file is stored as %s, which edit_file and write_file keep", stored)
	}
	if bom {
		out.note("the file begins with a UTF-8 byte order mark, which edit_file keeps")
	}
	result := out.result()
	result.Truncated = result.Truncated || p.long > 0
	return result, nil
}

// readPicture returns a picture, and a line that says what it is.
func readPicture(rel string, f io.Reader) (Result, error) {
	data, err := io.ReadAll(io.LimitReader(f, picture.MaxBytes+1))
	if err != nil {
		return Result{}, rootfs.PathError(rel, err)
	}
	p, err := picture.Read(rootfs.Show(rel), data)
	if err != nil {
		return Result{}, err
	}
	return Result{Text: p.String(), Pictures: []picture.Picture{p}}, nil
}

// decoded returns the text of a file as UTF-8, and how it is stored. What is too large to be
// edited, or no text, is returned as it is.
func (ws *Workspace) decoded(f io.Reader, size int64) (io.Reader, charset.Charset, error) {
	if size > ws.opts.MaxFileBytes {
		return f, charset.Charset{}, nil
	}
	content, err := io.ReadAll(io.LimitReader(f, ws.opts.MaxFileBytes+1))
	if err != nil {
		return nil, charset.Charset{}, err
	}
	text, stored, ok := charset.Decode(content)
	if !ok {
		text = content
	}
	return io.MultiReader(bytes.NewReader(text), f), stored, nil
}

// page is the part of a file that one call shows.
type page struct {
	first, limit int  // lines; a limit of 0 means as many as fit
	counts       bool // lines are counted to the end of the file

	shown, long int  // lines, and the long ones that were cut
	crlf        bool // a line ends in CRLF
	more        bool // lines follow
}

// read writes the lines of the page to out.
func (p *page) read(ctx context.Context, r *lineReader, out *output) error {
	for {
		line, total, err := r.next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.number < p.first {
			continue
		}
		if p.more = p.more || p.limit > 0 && p.shown == p.limit || out.full; p.more {
			if !p.counts {
				return nil
			}
			continue
		}
		text, hadCR := bytes.CutSuffix(line, []byte{'\r'})
		p.crlf = p.crlf || hadCR
		cut := ""
		if total > len(line) {
			cut = fmt.Sprintf("… (%d more bytes)", total-len(line))
		}
		if p.more = !out.line(fmt.Sprintf("%6d→%s%s", r.number, text, cut)); p.more {
			continue
		}
		if p.shown++; cut != "" {
			p.long++
		}
	}
}

// lineReader reads the lines of a file of any size, in constant memory.
type lineReader struct {
	r      *bufio.Reader
	number int // of the line that next returned last, from 1
	buf    []byte
}

// next returns the beginning of the next line without its line feed, and how
// many bytes the whole of it has. The slice is good until the next call. The
// error after the last line is io.EOF.
func (l *lineReader) next(ctx context.Context) (line []byte, total int, err error) {
	l.buf = l.buf[:0]
	for {
		if ctx.Err() != nil {
			return nil, 0, fmt.Errorf("stopped at line %d: %w", l.number+1, context.Cause(ctx))
		}
		part, err := l.r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return nil, 0, err
		}
		if errors.Is(err, io.EOF) && total+len(part) == 0 {
			return nil, 0, io.EOF
		}
		part = bytes.TrimSuffix(part, []byte{'\n'})
		total += len(part)
		// Some bytes more than are shown, to cut at the end of a character.
		l.buf = append(l.buf, part[:min(len(part), max(0, maxLineBytes+4-len(l.buf)))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	l.number++
	if total <= maxLineBytes {
		return l.buf, total, nil
	}
	return termtext.Head(l.buf, maxLineBytes), total, nil
}

// Package patch reads and applies the patches that OpenAI's models are trained to write.
//
// The grammar, in Lark, is from https://github.com/openai/codex, codex-rs/apply-patch/src/parser.rs:
//
//	start: begin_patch hunk+ end_patch
//	begin_patch: "*** Begin Patch" LF
//	end_patch: "*** End Patch" LF?
//
//	hunk: add_hunk | delete_hunk | update_hunk
//	add_hunk: "*** Add File: " filename LF add_line+
//	delete_hunk: "*** Delete File: " filename LF
//	update_hunk: "*** Update File: " filename LF change_move? change?
//
//	filename: /(.+)/
//	add_line: "+" /(.*)/ LF -> line
//
//	change_move: "*** Move to: " filename LF
//	change: (change_context | change_line)+ eof_line?
//	change_context: ("@@" | "@@ " /(.+)/) LF
//	change_line: ("+" | "-" | " ") /(.*)/ LF
//	eof_line: "*** End of File" LF
//
// As the implementation there, [Parse] takes more than that: white space around markers, a
// here-document around the patch, a first hunk without "@@", empty lines for empty context.
// [Apply] looks for lines as Codex does, with two exceptions. Context lines stay as the file has
// them. Lines that are only added come after their "@@" context where there is one.
package patch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
)

// Op says what a patch does with a file.
type Op int

// The operations.
const (
	Add    Op = iota + 1 // make a file, or replace all of it
	Delete               // remove a file
	Update               // change lines of a file, and perhaps its path
)

// File is what a patch does with one file.
type File struct {
	Op     Op
	Path   string
	MoveTo string // the new path of an updated file; empty means it stays
	Text   string // of an added file
	Hunks  []Hunk // of an updated file
	Line   int    // of the header in the patch, counted from 1
}

// Hunk is a change of consecutive lines.
type Hunk struct {
	Contexts []string // lines above it, in order, of which the first is looked for behind the hunk before
	Lines    []Line
	AtEnd    bool // the lines are the last ones of the file
	Line     int  // where it begins in the patch
}

// Line is a line of a hunk.
type Line struct {
	Kind byte // ' ' is in the file and stays, '-' is removed, '+' is added
	Text string
}

const (
	begin   = "*** Begin Patch"
	end     = "*** End Patch"
	add     = "*** Add File:"
	del     = "*** Delete File:"
	update  = "*** Update File:"
	moveTo  = "*** Move to:"
	lastOne = "*** End of File"
)

// MaxFiles is how many files a patch may name.
const MaxFiles = 100

// Parse reads a patch.
func Parse(text string) ([]File, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	p := &parser{lines: lines}
	if quotes := []string{"<<EOF", "<<'EOF'", `<<"EOF"`}; len(lines) >= 4 && slices.Contains(quotes, lines[0]) && strings.HasSuffix(lines[len(lines)-1], "EOF") {
		p.lines, p.at = lines[:len(lines)-1], 1
	}
	if p.trimmed() != begin {
		return nil, fmt.Errorf("the first line of a patch is %q, and not %q", begin, termtext.Head(p.trimmed(), 80))
	}
	p.at++
	if last := strings.TrimSpace(p.lines[len(p.lines)-1]); last != end || p.at == len(p.lines) {
		return nil, fmt.Errorf("the last line of a patch is %q: the patch is cut off", end)
	}
	p.lines = p.lines[:len(p.lines)-1]
	var files []File
	for p.skipBlank(); p.at < len(p.lines); p.skipBlank() {
		f, err := p.file()
		if err != nil {
			return nil, err
		}
		if len(files) == MaxFiles {
			return nil, p.errorf(f.Line, "more than %d files: write several patches", MaxFiles)
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil, errors.New("the patch is empty: it names no file")
	}
	return files, nil
}

// parser reads lines up to the end of the patch.
type parser struct {
	lines []string
	at    int
}

func (p *parser) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("line %d of the patch: %s", line, fmt.Sprintf(format, args...))
}

// line is the number of the current line.
func (p *parser) line() int { return p.at + 1 }

func (p *parser) trimmed() string { return strings.TrimSpace(p.lines[p.at]) }

func (p *parser) skipBlank() {
	for p.at < len(p.lines) && p.trimmed() == "" {
		p.at++
	}
}

// file reads a header and what belongs to it.
func (p *parser) file() (File, error) {
	f := File{Line: p.line()}
	header := p.trimmed()
	for _, kind := range []struct {
		marker string
		op     Op
	}{{add, Add}, {del, Delete}, {update, Update}} {
		if path, ok := strings.CutPrefix(header, kind.marker); ok {
			f.Op, f.Path = kind.op, strings.TrimSpace(path)
		}
	}
	switch {
	case f.Op == 0:
		return f, p.errorf(f.Line, "%q is no header: write %q, %q or %q, each with a path", termtext.Head(header, 80), add, del, update)
	case f.Path == "":
		return f, p.errorf(f.Line, "the path is missing")
	}
	p.at++
	var err error
	switch f.Op {
	case Add:
		f.Text = p.added()
	case Update:
		err = p.updated(&f)
	}
	return f, err
}

// added reads the text of an added file.
func (p *parser) added() string {
	var b strings.Builder
	for ; p.at < len(p.lines); p.at++ {
		text, ok := strings.CutPrefix(p.lines[p.at], "+")
		if !ok {
			break
		}
		b.WriteString(text)
		b.WriteByte('\n')
	}
	return b.String()
}

// updated reads where an updated file goes, and its hunks.
func (p *parser) updated(f *File) error {
	if p.at < len(p.lines) {
		if path, ok := strings.CutPrefix(p.trimmed(), moveTo); ok {
			if f.MoveTo = strings.TrimSpace(path); f.MoveTo == "" {
				return p.errorf(p.line(), "the path is missing")
			}
			p.at++
		}
	}
	for p.skipBlank(); p.at < len(p.lines) && !strings.HasPrefix(p.lines[p.at], "*"); p.skipBlank() {
		h, err := p.hunk(len(f.Hunks) == 0)
		if err != nil {
			return err
		}
		f.Hunks = append(f.Hunks, h)
	}
	if len(f.Hunks) == 0 && f.MoveTo == "" {
		return p.errorf(f.Line, "it changes nothing of %q", termtext.Head(f.Path, 80))
	}
	return nil
}

// hunk reads one hunk. Only the first one of a file may begin without "@@".
func (p *parser) hunk(first bool) (Hunk, error) {
	h := Hunk{Line: p.line()}
	marked := false
	for ; p.at < len(p.lines) && strings.HasPrefix(p.lines[p.at], "@@"); p.at++ {
		marked = true
		if context := strings.TrimPrefix(p.lines[p.at][2:], " "); strings.TrimSpace(context) != "" {
			h.Contexts = append(h.Contexts, context)
		}
	}
	if !marked && !first {
		return h, p.errorf(h.Line, "%q begins no hunk: a hunk begins with \"@@\"", termtext.Head(p.lines[p.at], 80))
	}
	for ; p.at < len(p.lines); p.at++ {
		line := p.lines[p.at]
		switch {
		case line == "":
			h.Lines = append(h.Lines, Line{Kind: ' '})
			continue
		case strings.ContainsRune(" +-", rune(line[0])):
			h.Lines = append(h.Lines, Line{line[0], line[1:]})
			continue
		case len(h.Lines) > 0 && strings.TrimSpace(line) == lastOne:
			h.AtEnd = true
			p.at++
		case len(h.Lines) == 0 && line[0] != '*':
			return h, p.errorf(p.line(), "%q: each line of a hunk begins with \" \" (it stays), \"-\" (it is removed) or \"+\" (it is added)", termtext.Head(line, 80))
		}
		break
	}
	if len(h.Lines) == 0 {
		return h, p.errorf(h.Line, "the hunk has no lines")
	}
	return h, nil
}

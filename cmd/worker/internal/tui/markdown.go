package tui

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/termtext"
)

const (
	// maxMarkdown bounds, in bytes, the text that is read as Markdown; the rest is shown
	// unformatted. The time to read a hostile text grows faster than the text.
	maxMarkdown = 16 << 10

	// maxColumns is how long a line may get, in columns: longer ones are hard to read.
	maxColumns = 100

	// minColumns is what is left to a line, in columns, however deep lists and quotes nest.
	minColumns = 20
)

var markdownReader = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList)).Parser()

// RenderMarkdown returns Markdown formatted for a terminal, without a line end. The text's
// author is not trusted: nothing in it makes an escape, a link that can't be seen, or a
// text that runs the other way. The usual library for this, glamour, would add 7.5 MB to
// the program.
func RenderMarkdown(markdown string, on terminal.Output) string {
	markdown = termtext.Printable(markdown)
	head := termtext.Head(markdown, maxMarkdown)
	if rest := markdown[len(head):]; rest != "" {
		if end := strings.LastIndexByte(head, '\n'); end > 0 {
			head = head[:end+1]
		}
	}
	r := &renderer{source: []byte(head), on: on, width: min(maxColumns, on.Columns())}
	r.blocks(markdownReader.Parse(text.NewReader(r.source)), linePrefix{})
	return strings.TrimRight(r.out.String()+markdown[len(head):], "\n")
}

// renderer writes the blocks of a text one after the other.
type renderer struct {
	source []byte
	on     terminal.Output
	width  int
	out    strings.Builder
	tight  bool // no empty line between two blocks
}

// linePrefix is what the lines of a block begin with.
type linePrefix struct {
	first, rest string
	columns     int // that it takes
}

// under adds first and rest to the prefix of an outer block. If there is no room left for
// them, it adds nothing.
func (r *renderer) under(p linePrefix, first, rest string) linePrefix {
	n := terminal.Cells(first)
	if r.width-p.columns-n < minColumns {
		return p
	}
	return linePrefix{p.first + first, p.rest + rest, p.columns + n}
}

// blocks writes the blocks below a node. Only the first line of the first one begins
// with the first prefix.
func (r *renderer) blocks(parent ast.Node, p linePrefix) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if n.PreviousSibling() != nil {
			if !r.tight {
				r.line(strings.TrimRight(p.rest, " "))
			}
			p.first = p.rest
		}
		r.block(n, p)
	}
}

func (r *renderer) block(n ast.Node, p linePrefix) {
	switch n := n.(type) {
	case *ast.Heading:
		r.wrapped(r.paint(textStyle{bold: true}, strings.Repeat("#", n.Level)+" ")+r.inline(n, textStyle{bold: true}), p)
	case *ast.Blockquote:
		r.blocks(n, r.under(p, "│ ", "│ "))
	case *ast.List:
		r.list(n, p)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		r.code(n, p)
	case *ast.ThematicBreak:
		r.line(p.first + strings.Repeat("─", r.width-p.columns))
	case *ast.HTMLBlock:
		r.code(n, p)
	case *east.Table:
		r.table(n, p)
	default: // a paragraph, or the text of an item
		if n.Type() == ast.TypeBlock && n.FirstChild() != nil && n.FirstChild().Type() == ast.TypeBlock {
			r.blocks(n, p)
			return
		}
		r.wrapped(r.inline(n, textStyle{}), p)
	}
}

// list writes a list: each item behind its mark.
func (r *renderer) list(n *ast.List, p linePrefix) {
	was := r.tight
	r.tight = n.IsTight
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		if item.PreviousSibling() != nil {
			if !n.IsTight {
				r.line(strings.TrimRight(p.rest, " "))
			}
			p.first = p.rest
		}
		mark := "• "
		if n.IsOrdered() {
			mark = itoa(number) + string(n.Marker) + " "
			number++
		}
		below := r.under(p, mark, strings.Repeat(" ", terminal.Cells(mark)))
		if item.FirstChild() == nil {
			r.line(strings.TrimRight(below.first, " "))
		}
		r.blocks(item, below)
	}
	r.tight = was
}

// code writes lines without breaking them, so that they can be copied.
func (r *renderer) code(n ast.Node, p linePrefix) {
	p = r.under(p, "  ", "  ")
	lines := n.Lines()
	for i := range lines.Len() {
		segment := lines.At(i)
		text := strings.TrimRight(string(segment.Value(r.source)), "\n")
		r.line(p.first + r.paint(textStyle{code: true}, text))
		p.first = p.rest
	}
	if html, ok := n.(*ast.HTMLBlock); ok && html.HasClosure() {
		r.line(p.first + r.paint(textStyle{code: true}, strings.TrimRight(string(html.ClosureLine.Value(r.source)), "\n")))
	} else if lines.Len() == 0 {
		r.line(strings.TrimRight(p.first, " "))
	}
}

// table writes a table that fits, as those of other commands do.
func (r *renderer) table(n *east.Table, p linePrefix) {
	t := &terminal.Table{}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, (&renderer{source: r.source}).inline(cell, textStyle{}))
		}
		if t.Header == nil {
			t.Header = cells
			continue
		}
		for len(cells) < len(t.Header) {
			cells = append(cells, "")
		}
		t.Add(cells[:len(t.Header)]...)
	}
	var b strings.Builder
	columns := r.width - p.columns
	_, _ = t.Print(&b, terminal.Output{Colors: r.on.Colors, Columns: func() int { return columns }}, false) // to memory
	for line := range strings.SplitSeq(strings.TrimRight(b.String(), "\n"), "\n") {
		r.line(p.first + line)
		p.first = p.rest
	}
}

// wrapped writes a text in as many lines as it takes.
func (r *renderer) wrapped(text string, p linePrefix) {
	for line := range strings.SplitSeq(lipgloss.Wrap(text, max(1, r.width-p.columns), ""), "\n") {
		r.line(p.first + strings.TrimRight(line, " "))
		p.first = p.rest
	}
}

func (r *renderer) line(text string) { r.out.WriteString(text + "\n") }

// plainText resolves the escapes and references in a piece of the text. Characters that
// control something stay escaped.
func plainText(source []byte) string {
	source = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(source)))
	return termtext.Printable(string(source))
}

package tui

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// textStyle is how a piece of text looks.
type textStyle struct{ bold, italic, struck, code, dim bool }

// paint returns a text in a style, where the terminal has colours.
func (r *renderer) paint(s textStyle, text string) string {
	if !r.on.Colors || text == "" {
		return text
	}
	var codes []string
	for _, c := range []struct {
		set  bool
		code string
	}{{s.bold, "1"}, {s.dim, "2"}, {s.italic, "3"}, {s.struck, "9"}, {s.code, "36"}} {
		if c.set {
			codes = append(codes, c.code)
		}
	}
	if codes == nil {
		return text
	}
	return "\x1b[" + strings.Join(codes, ";") + "m" + text + "\x1b[0m"
}

// inline returns the text below a node, in a style. Without colours the marks of a style
// are kept.
func (r *renderer) inline(parent ast.Node, s textStyle) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		b.WriteString(r.span(n, s))
	}
	return b.String()
}

func (r *renderer) span(n ast.Node, s textStyle) string {
	switch n := n.(type) {
	case *ast.Text:
		text := r.paint(s, plainText(n.Segment.Value(r.source)))
		switch {
		case n.HardLineBreak():
			return text + "\n"
		case n.SoftLineBreak():
			return text + " "
		}
		return text
	case *ast.String:
		return r.paint(s, plainText(n.Value))
	case *ast.CodeSpan:
		s.code = true
		var b strings.Builder
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if text, ok := c.(*ast.Text); ok {
				b.Write(text.Value(r.source))
			}
		}
		return r.marked("`", r.paint(s, strings.ReplaceAll(b.String(), "\n", " ")))
	case *ast.Emphasis:
		if n.Level == 1 {
			s.italic = true
		} else {
			s.bold = true
		}
		return r.marked(strings.Repeat("*", n.Level), r.inline(n, s))
	case *east.Strikethrough:
		s.struck = true
		return r.marked("~~", r.inline(n, s))
	case *ast.Link:
		return r.link(r.inline(n, s), string(n.Destination))
	case *ast.Image:
		return r.link("[image: "+r.inline(n, s)+"]", string(n.Destination))
	case *ast.AutoLink:
		return r.paint(s, plainText(n.URL(r.source)))
	case *ast.RawHTML:
		return r.paint(s, strings.ReplaceAll(string(n.Segments.Value(r.source)), "\n", " "))
	case *east.TaskCheckBox:
		if n.IsChecked {
			return "[x] "
		}
		return "[ ] "
	}
	return r.inline(n, s)
}

// marked returns a text between two marks, unless colours show their meaning.
func (r *renderer) marked(mark, text string) string {
	if r.on.Colors {
		return text
	}
	return mark + text + mark
}

// link is a text with its address: a reader must see where a link leads.
func (r *renderer) link(text, address string) string {
	address = plainText([]byte(address))
	if address == "" || address == text {
		return text
	}
	return text + r.paint(textStyle{dim: true}, " ("+address+")")
}

func itoa(n int) string { return strconv.Itoa(n) }

package shell

import (
	"bytes"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxReadings bounds how often a script is parsed to read it as bash does.
const maxReadings = 20

// parseShell returns the statements of a script up to the first that is no
// shell; ok is false if there is one, or if it is not certain that bash reads
// the script so. The nodes' offsets are those of the script.
//
// The parser differs from bash in three things, each of which would hide a
// command: it goes on with a comment's line where that ends in a backslash, it
// takes a carriage return for a blank, and it lets single quotes quote in the
// default of a variable within double quotes. What it reads is changed
// accordingly, byte for byte.
func parseShell(script string) (stmts []*syntax.Stmt, ok bool) {
	text := []byte(script)
	ok = true
	if bytes.IndexByte(text, '\r') >= 0 {
		ok = false
		text = bytes.ReplaceAll(text, []byte{'\r'}, []byte{1}) // for bash a character like any other
	}
	for range maxReadings {
		changed := false
		if continued.Match(text) {
			changed = endComments(text)
		}
		stmts, parsed := parseOnce(text)
		if bytes.Contains(text, []byte("${")) && unquote(text, stmts) {
			ok, changed = false, true
		}
		if !changed {
			return stmts, ok && parsed
		}
	}
	return nil, false
}

// continued finds what may be a comment that ends in a backslash.
var continued = regexp.MustCompile(`#[^\n]*\\\n`)

func newShellParser(opts ...syntax.ParserOption) *syntax.Parser {
	return syntax.NewParser(append(opts, syntax.Variant(syntax.LangBash))...)
}

func parseOnce(text []byte) (stmts []*syntax.Stmt, ok bool) {
	defer func() {
		if recover() != nil { // some malformed texts make the parser panic
			ok = false
		}
	}()
	for stmt, err := range newShellParser().StmtsSeq(bytes.NewReader(text)) {
		if err != nil {
			return stmts, false
		}
		stmts = append(stmts, stmt)
	}
	return stmts, true
}

// endComments replaces the backslashes that end comments, and reports whether
// there were any.
func endComments(text []byte) (changed bool) {
	defer func() { _ = recover() }() // parseOnce says so
	// With an error the file is what comes before it.
	file, _ := newShellParser(syntax.KeepComments(true)).Parse(bytes.NewReader(text), "")
	if file == nil {
		return false
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok && strings.HasSuffix(c.Text, "\\\n") {
			from := int(c.Hash.Offset())
			if i := bytes.Index(text[from:], []byte("\\\n")); i >= 0 {
				text[from+i] = ' '
				changed = true
			}
		}
		return true
	})
	return changed
}

// unquote replaces the single quotes that may quote nothing, as in
// "${x:-'$y'}", and reports whether there were any.
func unquote(text []byte, stmts []*syntax.Stmt) (changed bool) {
	var within []bool // double quotes: of each node that is open
	documents := map[*syntax.Word]bool{}
	visit := func(n syntax.Node) bool {
		if n == nil {
			within = within[:len(within)-1]
			return true
		}
		inside := len(within) > 0 && within[len(within)-1]
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			inside = false
		case *syntax.DblQuoted:
			inside = true
		case *syntax.Redirect:
			documents[n.Hdoc] = n.Hdoc != nil
		case *syntax.Word:
			inside = inside || documents[n]
		case *syntax.SglQuoted:
			if inside && !sameUnquoted.MatchString(n.Value) {
				at := int(n.Left.Offset())
				if n.Dollar {
					at++
				}
				text[at] = 'x'
				if !strings.Contains(n.Value, "}") { // the expansion goes on behind it
					text[n.Right.Offset()] = 'x'
				}
				changed = true
			}
		}
		within = append(within, inside)
		return true
	}
	for _, s := range stmts {
		syntax.Walk(s, visit)
	}
	return changed
}

// sameUnquoted is a text that is one with and without its quotes.
var sameUnquoted = regexp.MustCompile(`^[\pL\pN_.,:/ +-]*$`)

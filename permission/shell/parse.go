package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// parseShell returns the statements of a script up to the first syntax error.
// ok is false if there is an error, or if bash may read the script otherwise.
// With plainer, a shell that knows less than bash has to read it the same.
func parseShell(script string, plainer bool) (stmts []*syntax.Stmt, ok bool) {
	stmts, ok = parseOnce(script, syntax.LangBash)
	if plainer && ok {
		_, ok = parseOnce(script, syntax.LangPOSIX)
	}
	return stmts, ok && !strings.Contains(script, "\r") && !(doubtful.MatchString(script) && readOtherwise(script))
}

func parseOnce(script string, lang syntax.LangVariant) (stmts []*syntax.Stmt, ok bool) {
	defer func() {
		if recover() != nil { // some malformed texts make the parser panic
			ok = false
		}
	}()
	for stmt, err := range syntax.NewParser(syntax.Variant(lang)).StmtsSeq(strings.NewReader(script)) {
		if err != nil {
			return stmts, false
		}
		stmts = append(stmts, stmt)
	}
	return stmts, true
}

// doubtful finds what may be a comment that ends in a backslash, or an
// expansion with quotes.
var doubtful = regexp.MustCompile(`#[^\n]*\\\n|\$\{`)

// readOtherwise reports whether bash may read the script in another way. The
// parser differs from bash in three things, and each would hide a command. It
// continues a comment that ends in a backslash. It lets single quotes quote in
// the default of a variable within double quotes. It reads a carriage return as
// a blank.
func readOtherwise(script string) (found bool) {
	defer func() { _ = recover() }() // parseOnce says so
	// With an error the file is what comes before it.
	file, _ := syntax.NewParser(syntax.KeepComments(true)).Parse(strings.NewReader(script), "")
	if file == nil {
		return true
	}
	var within []bool // double quotes: of each node that is open
	documents := map[*syntax.Word]bool{}
	syntax.Walk(file, func(n syntax.Node) bool {
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
			found = found || inside && !sameUnquoted.MatchString(n.Value)
		case *syntax.Comment:
			found = found || strings.HasSuffix(n.Text, "\\\n")
		}
		within = append(within, inside)
		return true
	})
	return found
}

// sameUnquoted is a text that is one with and without its quotes.
var sameUnquoted = regexp.MustCompile(`^[\pL\pN_.,:/ +-]*$`)

package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// parseShell returns the statements of a script up to the first that is no
// shell; ok is false if there is one, or if it is not certain that bash reads
// the script so, and a shell that is plainer than bash, if it is to be one.
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

// readOtherwise reports whether bash may read the script in another way.
// The parser differs from it in three things, each of which would hide a command:
// it goes on with a comment's line where that ends in a backslash, it lets single
// quotes quote in the default of a variable within double quotes, and it takes a
// carriage return for a blank.
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

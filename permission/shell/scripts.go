package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agentworker/worker/permission/internal/program"
)

// Scripts returns the files that a command line may run, as it names them, each once: the
// programs with a slash in their names, and what interpreters are given. It finds literal
// names only.
func Scripts(command string) []string {
	var found []string
	file, _ := syntax.NewParser().Parse(strings.NewReader(command), "")
	if file == nil {
		return nil
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok {
			return true
		}
		for _, name := range scriptsOf(call.Args) {
			if name != "" && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
		return true
	})
	return found
}

// runners are the columns "does" of programs that run a file or a program they are given.
var runners = []string{"shell", "code", "command", "unknown", "subcommands"}

// scriptsOf returns the files that a simple command may run: its program, or the argument of a
// program that runs others.
func scriptsOf(args []*syntax.Word) (names []string) {
	var p *program.Program // that runs the next word; nil means the shell itself
	for i, words := 0, 1; i < len(args) && words > 0; i++ {
		word, literal := literalOf(args[i])
		switch {
		case !literal:
			return names
		case p != nil && (word == "-c" || word == "-e" || word == "--eval"):
			return names // its words are the script
		case p != nil && strings.HasPrefix(word, "-"):
			if p.TakesNext(word) || p.Does == "shell" && strings.HasSuffix(word, "o") { // -o pipefail
				i++
			}
			continue
		case strings.Contains(word, "=") && !strings.Contains(word, "/"):
			continue // a variable
		}
		next := program.Lookup(path.Base(word))
		if next != nil && slices.Contains(runners, next.Does) {
			if p = next; p.Does == "subcommands" {
				words = 2 // such as run, and a file
			}
			continue
		}
		if p == nil && !strings.Contains(word, "/") {
			return names // a program of PATH
		}
		names, words = append(names, word), words-1
	}
	return names
}

// literalOf returns the text of a word without expansions.
func literalOf(w *syntax.Word) (text string, ok bool) {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", false
				}
				b.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agentworker/worker/permission"
)

// Bounds of the analysis of one command line. What is beyond is unknown.
const (
	maxCommand      = 128 << 10 // bytes
	maxShellSteps   = 5000      // statements looked at, loops counted each time
	maxShellNesting = 30        // of shells in shells and calls in calls
	maxValues       = 20000
	maxShellBytes   = 16 << 20 // of the texts of the values
	maxWords        = 10000    // of a command
	maxVariable     = 4 << 10  // bytes of a word with variables in it
	maxBraces       = 10       // groups of braces in a word
	maxLooks        = 20000    // at files and entries of folders
)

// Values returns the values of a command line of the shell. It is parsed as
// bash does and followed without being run:
//
//   - Every command anywhere in it is a value of tool, whose text is its words
//     without quotes, joined by blanks; also those that another command, such
//     as xargs, env or sh -c, would run.
//   - A redirection is a value of write_file or read_file.
//   - A file that a command is given to read or write is a value of read_file
//     or write_file that can only deny, and so are other spellings of a
//     command: "rm -rf x" for "/bin/rm -fr x".
//   - What cannot be known before it runs, and a line that cannot be parsed,
//     is an unknown value.
//
// A command that starts with a folder, as "cd src && cat x", is followed
// there; so are variables with a certain value. The file system is read to
// expand patterns and to tell files from other words. An error: the command is
// blank or holds a NUL.
func Values(w permission.Workspace, tool, command string) ([]permission.Value, error) {
	switch {
	case strings.TrimSpace(command) == "":
		return nil, errEmptyCommand
	case strings.IndexByte(command, 0) >= 0:
		return nil, errNULCommand
	}
	a := &analysis{ws: w, tool: tool, seen: map[permission.Value]bool{}, home: w.HomeFolder()}
	st := &state{vars: map[string]text{}, cwd: []string{w.Root}, funcs: map[string]*syntax.Stmt{}}
	a.script(st, command)
	if !slices.ContainsFunc(a.values, func(v permission.Value) bool { return !v.DenyOnly }) {
		a.unknown(command) // nothing in it that a rule could allow
	}
	return a.values, nil
}

type shellError string

func (e shellError) Error() string { return string(e) }

const (
	errEmptyCommand shellError = "the command is empty"
	errNULCommand   shellError = "the command holds a NUL"
)

// shell is the analysis of one command line.
type analysis struct {
	ws      permission.Workspace
	tool    string
	home    string
	src     string // what the nodes being looked at were parsed from
	values  []permission.Value
	seen    map[permission.Value]bool
	visited []string // every folder that a cd went to
	steps   int
	depth   int
	looks   int // at the file system
	bytes   int // of values
	full    bool
	cut     bool // a command has been
	spent   bool
}

// spend counts steps, and reports whether there are any left.
func (a *analysis) spend(n int) bool {
	if a.steps += n; a.steps <= maxShellSteps {
		return true
	}
	if !a.spent {
		a.spent = true
		a.unknown("more steps than can be followed")
	}
	return false
}

// look counts looks at the file system, and reports whether there are any left.
func (a *analysis) look(n int) bool {
	a.looks += n
	return a.looks <= maxLooks
}

// add adds a value once.
func (a *analysis) add(v permission.Value) {
	if a.seen[v] {
		return
	}
	if a.bytes += len(v.Text) + len(v.Written); len(a.values) >= maxValues || a.bytes > maxShellBytes {
		if !a.full {
			a.full = true
			a.values = append(a.values, permission.Value{Tool: a.tool, Text: "more than can be looked at", Unknown: true})
		}
		return
	}
	a.seen[v] = true
	a.values = append(a.values, v)
}

// unknown adds a value that nothing is known of but its text.
func (a *analysis) unknown(text string) {
	a.add(permission.Value{Tool: a.tool, Text: strings.TrimSpace(text), Unknown: true})
}

// script looks at a text that a shell runs. What comes before a syntax error
// has run by then, so it counts as well.
func (a *analysis) script(st *state, text string) {
	if a.depth >= maxShellNesting || len(text) > maxCommand {
		a.unknown(text)
		return
	}
	a.depth++
	src := a.src
	defer func() { a.depth--; a.src = src }()
	a.src = text
	stmts, ok := parseShell(text)
	if !ok {
		a.unknown(text)
	}
	a.stmts(st, stmts)
}

// written returns the source of a node.
func (a *analysis) written(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from > to || to > len(a.src) {
		return ""
	}
	return a.src[from:to]
}

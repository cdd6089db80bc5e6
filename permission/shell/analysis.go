package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agentworker/worker/permission"
)

// Bounds of the analysis of one command line. What lies beyond them is unknown.
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

// analysis is the analysis of one command line.
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

// written returns the source of a node.
func (a *analysis) written(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from > to || to > len(a.src) {
		return ""
	}
	return a.src[from:to]
}

// argv is a command's words.
type argv []text

// line joins the words, as patterns see them.
func (v argv) line() string {
	words := make([]string, len(v))
	for i, t := range v {
		words[i] = t.s
	}
	return strings.Join(words, " ")
}

// word returns the i-th word, "" if there is none or it is not certain.
func (v argv) word(i int) string {
	if i < len(v) && v[i].known && !v[i].glob {
		return v[i].s
	}
	return ""
}

// operands returns the words that are no options. withArg are the letters of
// the options whose argument may be the next word.
func operands(v argv, withArg string) argv {
	var out argv
	for i := 0; i < len(v); i++ {
		s := v[i].s
		switch {
		case s == "--" && v[i].known:
			return append(out, v[i+1:]...)
		case len(s) < 2 || s[0] != '-':
			out = append(out, v[i])
		case s[1] != '-' && strings.IndexByte(withArg, s[len(s)-1]) >= 0 && len(s) == 2:
			i++
		}
	}
	return out
}

// text is what a word becomes. It is comparable.
type text struct {
	s       string // with what is not known as it is written
	pattern string // s as a pattern, if glob: quoted characters are escaped
	known   bool   // all of s is certain
	glob    bool   // the shell expands it to file names
	split   bool   // the shell may make several words of it
	subst   bool   // it is nothing but a substitution of a command
	proc    bool   // it is the file of a process substitution
	prefix  int    // how much of s is certain, if not all
}

// known reports whether all words are certain.
func known(v argv) bool {
	return !slices.ContainsFunc(v, func(t text) bool { return !t.known })
}

// commandName returns the last part of the command's path; "": it cannot be
// known.
func commandName(v argv) string {
	if len(v) == 0 || v.word(0) == "" {
		return ""
	}
	name := path.Base(v[0].s)
	if name == "" || name == "/" {
		return ""
	}
	return name
}

// maxItems bounds the items of a loop that are looked at one by one.
const maxItems = 50

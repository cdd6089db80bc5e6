package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/internal/program"
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
	maxBraces       = 10       // of a word
	maxLooks        = 20000    // at files and entries of folders
)

// analysis is the analysis of one command line.
type analysis struct {
	findings
	ws      permission.Workspace
	home    string
	src     string // what the nodes being looked at were parsed from
	steps   int
	depth   int
	plainer bool   // the shell is not bash, but one that knows less
	input   string // the here-document of the command being looked at
	scripts scripts
	looks   // at the file system
	spent   bool
	gitUse  gitUse
}

// spend counts steps, and reports whether there are any left.
func (a *analysis) spend(n int) bool {
	if a.steps += n; a.steps <= maxShellSteps {
		return true
	}
	if !a.spent {
		a.spent = true
		a.unknown("more steps than can be followed", "divide the line")
	}
	return false
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
func (v argv) line() string { return strings.Join(v.words(), " ") }

// words returns the texts of the words.
func (v argv) words() []string {
	words := make([]string, len(v))
	for i, t := range v {
		words[i] = t.s
	}
	return words
}

// certain returns the texts of the words: "" for an uncertain word, and two
// quotes for an empty one.
func (v argv) certain() []string {
	words := make([]string, len(v))
	for i, t := range v {
		if words[i] = v.word(i); t.known && t.s == "" {
			words[i] = "''"
		}
	}
	return words
}

// operands returns the words that are no options and no arguments of them.
func (v argv) operands(p *program.Program) (out argv) {
	for _, i := range p.Operands(v.words()) {
		out = append(out, v[i])
	}
	return out
}

// word returns the i-th word, "" if there is none or it is not certain.
func (v argv) word(i int) string {
	if i < len(v) && v[i].known {
		return v[i].s
	}
	return ""
}

// text is what a word becomes. It is comparable.
type text struct {
	s      string // unknown parts are in their own spelling
	known  bool   // all of s is certain
	split  bool   // the shell may make several words of it
	number bool   // it is a whole number, whichever
	subst  bool   // it is nothing but a substitution of a command
	prefix int    // how much of s is certain
	with   string // what it depends on: see [permission.Value.With]
}

// known reports whether all words are certain.
func known(v argv) bool {
	return !slices.ContainsFunc(v, func(t text) bool { return !t.known })
}

// literal is a text that is certain.
func literal(s string) text { return text{s: s, known: true, prefix: len(s)} }

// commandName returns the last part of the command's path; "": it cannot be
// known.
func commandName(v argv) string {
	if name := path.Base(v.word(0)); name != "." && name != "/" || v.word(0) == "." {
		return name
	}
	return ""
}

// maxItems bounds the items of a loop that are looked at one by one.
const maxItems = 50

package shell

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agentworker/worker/permission"
)

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

// call looks at a simple command. Its own values come before those of the
// substitutions in it.
func (a *analysis) call(st *state, c *syntax.CallExpr) {
	mark := len(a.values)
	a.assigns(st, c.Assigns, len(c.Args) > 0)
	var args argv
	size, cut := 0, false
	for _, w := range c.Args {
		for _, t := range a.fields(st, w) {
			size += len(t.s) + 1
			switch cut = cut || size > maxCommand+1 || len(args) == maxWords; {
			case !cut:
				args = append(args, t)
			case !a.cut:
				a.cut = true
				a.unknown("a command with more words than can be looked at")
			}
		}
	}
	if cut {
		args = append(args, text{split: true})
	}
	inner := slices.Clone(a.values[mark:])
	a.values = a.values[:mark]
	if len(args) > 0 {
		a.run(st, args, a.written(c))
	} else if len(c.Args) > 0 {
		a.unknown(a.written(c)) // all words may vanish
	}
	a.values = append(a.values, inner...)
}

// run adds the values of a command and follows what it does.
func (a *analysis) run(st *state, v argv, written string) {
	if a.depth >= maxShellNesting {
		a.unknown(written)
		return
	}
	if !a.spend(1 + len(v)/256) {
		return
	}
	a.depth++
	defer func() { a.depth-- }()
	own := permission.Value{Tool: a.tool, Text: v.line(), Written: written}
	name := commandName(v)
	own.Unknown = name == "" || name == "." && len(v) == 1
	if name != "" && strings.Contains(v[0].s, "/") {
		for _, dir := range st.dirs() { // a program that this very script wrote
			own.Unknown = own.Unknown || dir == "" && !rooted(v[0].s) && len(st.written) > 0 ||
				slices.Contains(st.written, filepath.Join(dir, v[0].s)) || slices.Contains(st.written, filepath.Clean(v[0].s))
		}
	}
	a.add(own)
	if own.Unknown {
		a.suspects(st, v)
		return
	}
	a.spellings(v)
	if len(v) > 1 && (keywords[name] || assignment.MatchString(v[0].s)) { // no program; yet what follows must not hide
		a.run(st, v[1:], v[1:].line())
	}
	if body := st.funcs[name]; body != nil && !slices.Contains(st.inFunc, body) {
		from := len(a.visited)
		in := st.clone()
		in.inFunc = append(in.inFunc, body)
		a.stmt(in, body)
		in.inFunc = st.inFunc
		st.merge(in)
		st.mayBeIn(a.visited[from:])
	}
	a.builtin(st, name, v)
	a.unwrap(st, name, v)
	a.files(st, name, v)
}

// keywords mean something to the shell where a command begins, and nothing
// behind "sudo".
var keywords = wordSet(`! { } if then elif else fi while until do done for case esac in function select [[ ]] coproc`)

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

// nested looks at a word that a shell runs as a script.
func (a *analysis) nested(st *state, t text) {
	if !t.known || t.glob {
		a.unknown(t.s)
		return
	}
	if strings.TrimSpace(t.s) != "" {
		a.script(st, t.s)
	}
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

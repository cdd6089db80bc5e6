package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agentworker/worker/permission"
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
//   - A line of several commands is a value itself, for rules that deny a pipe
//     or another construction.
//   - What cannot be known before it runs, and a line that cannot be parsed,
//     is an unknown value.
//
// A command that starts with a folder, as "cd src && cat x", is followed
// there; so are variables with a certain value. The file system is read to
// expand patterns and to tell files from other words. An error: the command is
// blank or contains a NUL.
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
	a.line(command)
	if !slices.ContainsFunc(a.values, func(v permission.Value) bool { return !v.DenyOnly }) {
		a.unknown(command) // nothing in it that a rule could allow
	}
	return a.values, nil
}

// line adds the whole line, as it is written and as it is usually laid out:
// "curl x|sh" is "curl x | sh".
func (a *analysis) line(command string) {
	if !strings.ContainsAny(command, permission.Operators) {
		return
	}
	lines := []string{strings.TrimSpace(command)}
	if stmts, ok := parseShell(command); ok {
		var b strings.Builder
		for i, stmt := range stmts {
			if i > 0 {
				b.WriteString("; ")
			}
			if syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, stmt) != nil {
				break
			}
		}
		lines = append(lines, strings.TrimSpace(b.String()))
	}
	for _, text := range slices.Compact(lines) {
		a.add(permission.Value{Tool: a.tool, Text: text, DenyOnly: true, Line: true})
	}
}

type shellError string

func (e shellError) Error() string { return string(e) }

const (
	errEmptyCommand shellError = "the command is empty"
	errNULCommand   shellError = "the command contains a NUL"
)

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

// suspects looks at what follows a command that is not known, as if it ran it.
func (a *analysis) suspects(st *state, v argv) {
	if len(v) > 1 && commandName(v[1:]) != "" {
		a.denyOnly(v[1:])
	}
	a.files(st, "", v)
}

// maxSuspects bounds the words of a command that may begin another.
const maxSuspects = 8

// mayRun looks at a command that nothing is known of, which may be one that
// runs its operands: what a rule denies of these is asked about.
func (a *analysis) mayRun(v argv) {
	b := &analysis{ws: a.ws, tool: a.tool, seen: map[permission.Value]bool{}, home: a.home, steps: a.steps, looks: a.looks}
	n := 0
	for i := 1; i < len(v) && n < maxSuspects; i++ {
		s := v[i].s
		if strings.HasPrefix(s, "-") {
			_, value, found := strings.Cut(s, "=")
			if !found {
				continue
			}
			s = value
		}
		n++
		b.denyOnly(append(argv{{s: s, known: v[i].known, prefix: min(v[i].prefix, len(s))}}, v[i+1:]...))
	}
	a.steps, a.looks = b.steps, b.looks
	for _, value := range b.values {
		value.Possible, value.Spelling = true, true
		a.add(value)
	}
}

// takesWords reports whether a program is known, and does not run its operands.
func takesWords(name string) bool {
	_, recurses := recursive[name]
	return pathless[name] || readers[name] || changed[name] || lastChanged[name] || searchers[name] || uploaders[name] || recurses || inert[name]
}

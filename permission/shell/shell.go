package shell

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agentworker/worker/permission"

	"github.com/agentworker/worker/permission/internal/program"
)

// Values returns the values of a command line of the shell. It is parsed as
// bash does and followed without being run:
//
//   - Every command anywhere in it is a value of tool, whose text is its words
//     without quotes, joined by blanks; also those that another command, such
//     as xargs, env or sh -c, would run.
//   - A redirection is a value of write_file or read_file.
//   - A file that a word names is mentioned to be read, and so are other
//     spellings of a command: "rm -rf x" for "/bin/rm -fr x". A command that may
//     open other files mentions an unknown one.
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
	a := &analysis{findings: newFindings(tool), ws: w, home: w.HomeFolder()}
	st := &state{vars: map[string]text{}, cwd: cmp.Or(w.Dir, w.Root), funcs: map[string]function{}}
	a.script(st, command)
	a.line(command)
	a.gitUse.end()
	if !slices.ContainsFunc(a.values, func(v permission.Value) bool { return !v.OnlyDenies() }) {
		a.unknown(command, "there is no command in it that a rule could allow")
	}
	return a.values, nil
}

// line adds all of the line, in its own spelling and in the usual one: "curl
// x|sh" is "curl x | sh".
func (a *analysis) line(command string) {
	if !strings.ContainsAny(command, permission.Operators) {
		return
	}
	lines := []string{strings.TrimSpace(command)}
	if stmts, ok := parseShell(command, false); ok {
		printed := make([]string, len(stmts))
		for i, stmt := range stmts {
			var b strings.Builder
			_ = syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, stmt)
			printed[i] = strings.TrimSpace(b.String())
		}
		lines = appendNew(lines, strings.Join(printed, "; "))
	}
	for _, text := range lines {
		a.add(permission.Value{Tool: a.tool, Text: text, Kind: permission.Line})
	}
}

var (
	errEmptyCommand = errors.New("the command is empty")
	errNULCommand   = errors.New("the command contains a NUL")
)

// script looks at a text that a shell runs. What comes before a syntax error
// has run by then, so it counts as well.
func (a *analysis) script(st *state, text string) {
	if a.depth >= maxShellNesting || len(text) > maxCommand {
		a.unknown(text, "it is longer or deeper than can be followed")
		return
	}
	a.depth++
	src := a.src
	defer func() { a.depth--; a.src = src }()
	a.src = text
	stmts, ok := parseShell(text, a.plainer)
	if !ok {
		a.unknown(text, "shells may read it in more than one way")
	}
	a.stmts(st, stmts)
}

// call looks at a simple command. Its own values come before those of the
// substitutions in it.
func (a *analysis) call(st *state, c *syntax.CallExpr) {
	mark := len(a.values)
	a.assigns(st, c)
	var args argv
	var with []string
	for size, i := 0, 0; i < len(c.Args); i++ {
		for _, t := range a.expand(st).fields(c.Args[i]) {
			size += len(t.s) + 1
			args, with = append(args, t), appendNew(with, t.with)
		}
		if size > maxCommand || len(args) > maxWords {
			a.unknown("a command with more words than can be looked at", "divide it")
			args, i = append(args, text{split: true}), len(c.Args)
		}
	}
	with = appendNew(with, a.input)
	a.input = ""
	inner := slices.Clone(a.values[mark:])
	a.values = a.values[:mark]
	if len(args) > 0 {
		a.run(st, args, permission.Value{Written: a.written(c), With: strings.Join(with, "; ")})
	} else if len(c.Args) > 0 {
		a.unknown(a.written(c), "all of its words may vanish")
	}
	a.values = append(a.values, inner...)
}

// run adds the values of a command, of which own says how it is written, and
// follows what it does.
func (a *analysis) run(st *state, v argv, own permission.Value) {
	own.Tool, own.Text = a.tool, v.line()
	if a.depth >= maxShellNesting {
		a.unknown(own.Text, "it is deeper than can be followed")
		return
	}
	if !a.spend(1 + len(v)/256) {
		return
	}
	a.depth++
	defer func() { a.depth-- }()
	name := commandName(v)
	if own.Why = a.unclear(st, name, v); own.Why != "" {
		own.Certainty = permission.Unknown
		a.add(own)
		a.anyFile()
		if len(v) > 1 && commandName(v[1:]) != "" { // what follows, as if it was run
			a.mention(v[1:])
		}
		return
	}
	p := program.Lookup(name)
	if own.Written != "" {
		own.Always = alwaysPattern(p, v)
	}
	f, defined := st.funcs[name]
	if f.sure { // its body says what it does
		own.Kind, own.Written, own.With = permission.Spelling, "", ""
	}
	a.add(own)
	if defined && !slices.Contains(st.inFunc, f.body) {
		in := st.clone()
		in.inFunc = append(in.inFunc, f.body)
		a.stmt(in, f.body)
		in.inFunc = st.inFunc
		st.merge(in)
	}
	if f.sure {
		return
	}
	a.spellings(p, v)
	if len(v) > 1 && assignment.MatchString(v[0].s) { // no program; yet what follows must not hide
		a.inner(st, v[1:])
	}
	a.opens(st, p, v)
	a.follow(st, p, v)
}

// unclear says why it is not certain which program a command runs; "": it is.
func (a *analysis) unclear(st *state, name string, v argv) string {
	switch {
	case name == "" || name == "." && len(v) == 1:
		return "the name of the command is not certain: write it out"
	case strings.ContainsAny(v[0].s, " \t\n"):
		return "the name of the program has a blank in it"
	case strings.Contains(v[0].s, "/") && len(st.written) > 0:
		path := v[0].s
		if !filepath.IsAbs(path) && st.cwd != "" {
			path = st.cwd + "/" + path
		}
		if !filepath.IsAbs(path) || slices.Contains(st.written, filepath.Clean(path)) {
			return "the line may write the program: run it by a call of its own"
		}
	}
	return ""
}

// inner runs what a wrapper runs.
func (a *analysis) inner(st *state, v argv) {
	if len(v) > 0 {
		a.run(st, v, permission.Value{Written: v.line()})
	}
}

// joined looks at words that a shell runs as a script.
func (a *analysis) joined(st *state, v argv) {
	switch line := v.line(); {
	case !known(v):
		a.unknown(line, "its words become a script, which has to be literal")
	case strings.TrimSpace(line) != "":
		a.script(st, line)
	}
}

// mention adds a command that may or may not be run: if a rule denies it, that
// holds.
func (a *analysis) mention(v argv) {
	a.add(permission.Value{Tool: a.tool, Text: v.line(), Kind: permission.Spelling})
	a.spellings(program.Lookup(commandName(v)), v)
}

// apart looks at a script or a command in an analysis of its own. It adds the
// commands found there with this certainty at best: a rule that denies one
// holds, a rule that allows one means nothing.
func (a *analysis) apart(certainty permission.Certainty, look func(b *analysis)) {
	b := &analysis{findings: newFindings(a.tool), ws: a.ws, home: a.home, depth: a.depth, steps: a.steps, looks: a.looks}
	look(b)
	a.steps, a.looks = b.steps, b.looks
	a.gitUse.changes = a.gitUse.changes || b.gitUse.changes
	for _, v := range b.values {
		if v.Tool != a.tool || v.Kind == permission.Line {
			continue
		}
		if v.Certainty == permission.Unknown && v.Kind == permission.Wanted {
			v.Text = "" // it might be any command
		}
		a.add(permission.Value{Tool: a.tool, Text: v.Text, Kind: permission.Spelling, Certainty: max(v.Certainty, certainty)})
	}
}

// elsewhere looks at a script that runs where this analysis' answers do not
// hold, on another machine or in a file.
func (a *analysis) elsewhere(script string, plainer bool) {
	a.apart(permission.Certain, func(b *analysis) {
		b.plainer = plainer
		b.script(&state{vars: map[string]text{}, funcs: map[string]function{}}, strings.ReplaceAll(script, "\x00", ""))
	})
}

// maxSuspects bounds the words of a command that may begin another.
const maxSuspects = 12

// mayRun looks at a command that may run its operands, or the argument of an
// option.
func (a *analysis) mayRun(v argv, certainty permission.Certainty) {
	a.apart(certainty, func(b *analysis) {
		n := 0
		for i := 1; i < len(v) && n < maxSuspects; i++ {
			t := v[i]
			if strings.HasPrefix(t.s, "-") {
				_, value, found := strings.Cut(t.s, "=")
				if !found {
					continue
				}
				t = text{s: value, known: t.known, prefix: min(t.prefix, len(value))}
			}
			if n++; !t.known && n <= 2 {
				b.add(permission.Value{Tool: b.tool, Text: t.s[:t.prefix], Kind: permission.Spelling, Certainty: permission.Unknown})
			}
			b.mention(append(argv{t}, v[i+1:]...))
			if t.known && strings.ContainsAny(t.s, " ;&|\n") && b.depth < maxShellNesting/2 {
				b.script(&state{vars: map[string]text{}, funcs: map[string]function{}}, t.s)
			}
		}
	})
}

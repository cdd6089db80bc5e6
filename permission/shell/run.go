package shell

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/permission"
)

// argumentFiles returns the files that xargs and parallel read their items
// from, behind the name of a command.
func argumentFiles(v argv) argv {
	files := v[:1:1]
	for i, t := range v[1:] {
		switch {
		case t.s == "-a" || t.s == "--arg-file":
			files = append(files, v[min(i+2, len(v)):min(i+3, len(v))]...)
		case strings.HasPrefix(t.s, "-a"):
			files = append(files, text{s: t.s[2:], known: t.known})
		case strings.HasPrefix(t.s, "--arg-file="):
			files = append(files, text{s: strings.TrimPrefix(t.s, "--arg-file="), known: t.known})
		}
	}
	return files
}

// parallelItem is what parallel puts an item, or a part of one, in place of.
var parallelItem = regexp.MustCompile(`\{[^{} ]*\}`)

// placeholder returns what xargs puts its items in place of, as its options say.
func placeholder(options argv) string {
	for i, t := range options {
		switch {
		case (t.s == "-I" || t.s == "-J") && i+1 < len(options):
			return options[i+1].s
		case strings.HasPrefix(t.s, "-I"), strings.HasPrefix(t.s, "-J"):
			return t.s[2:]
		case strings.HasPrefix(t.s, "--replace="):
			return strings.TrimPrefix(t.s, "--replace=")
		case strings.HasPrefix(t.s, "-i") && len(t.s) > 2:
			return t.s[2:]
		}
	}
	return "{}"
}

// replaced returns v, of which the words that hold the placeholder are known up
// to there.
func replaced(v argv, placeholder string) argv {
	v = slices.Clone(v)
	for i, t := range v {
		if at := strings.Index(t.s, placeholder); at >= 0 && t.known {
			v[i].known, v[i].prefix = false, at
		}
	}
	return v
}

// interpreter judges a run of an interpreter.
func (a *analysis) interpreter(name string, v argv) {
	argument := false // of the option before
	for i, t := range v[1:] {
		if argument {
			argument = false
			continue
		}
		switch {
		case t.s == "--version" || t.s == "-V" || t.s == "--help" || t.s == "-v" && i == 0:
			return
		case optionWords.MatchString(t.s) && t.known:
			argument = true
		case strings.HasPrefix(name, "py") && (gluedModule(t.s, "") || gluedModule(t.s, v.word(i+2))), name == "deno" && t.s == "run" && strings.Contains(v.line(), "://"):
			a.unknown(v.line())
			return
		case t.s == "-m" && strings.HasPrefix(name, "py"), name == "bun" || name == "deno":
			if t.s != "-e" && t.s != "eval" && t.s != "-p" && t.s != "repl" {
				return // a module or a subcommand
			}
			a.unknown(v.line())
			return
		case !t.known || t.s == "-" || strings.HasPrefix(t.s, "/dev/") || strings.HasPrefix(t.s, "/proc/") || inlineFlags.MatchString(t.s):
			a.unknown(v.line())
			return
		case !strings.HasPrefix(t.s, "-"):
			if slices.Contains([]string{"ed", "ex", "vi", "vim", "nvim", "view", "emacs", "nano", "gdb", "lldb", "expect", "m4"}, name) {
				a.unknown(v.line())
			}
			return // a script in a file
		}
	}
	a.unknown(v.line()) // what it reads
}

// gluedModule reports whether a word of Python's options, with the next word,
// names a module that runs other code: "-m pdb", "-Impdb".
func gluedModule(s, next string) bool {
	m := moduleOption.FindStringSubmatch(s)
	return m != nil && programModules[m[1]+next]
}

// env follows env, which sets variables and the folder.
func (a *analysis) env(st *state, v argv) {
	st = st.clone()
	rest := v[1:]
	for len(rest) > 0 {
		s := rest[0].s
		switch {
		case assignment.MatchString(s):
			name, value, _ := strings.Cut(s, "=")
			if !tame(name, text{s: value, known: rest[0].known}) && (powerful.MatchString(name) || !rest[0].known || !plainValue.MatchString(value)) {
				a.unknown(s)
			}
		case strings.Contains(s, "=") && !strings.HasPrefix(s, "-"): // a name that no shell would take
			a.unknown(v.line())
		case s == "-C" || s == "--chdir":
			if len(rest) < 2 {
				return
			}
			rest = rest[1:]
			a.cd(st, rest[0])
			st.succeeded()
		case strings.HasPrefix(s, "--chdir="), strings.HasPrefix(s, "-C"):
			a.cd(st, text{s: strings.TrimPrefix(strings.TrimPrefix(s, "--chdir="), "-C"), known: rest[0].known})
			st.succeeded()
		case s == "-S" || s == "--split-string" || s == "-vS":
			if len(rest) < 2 {
				return
			}
			a.nested(st, text{s: argv(rest[1:]).line(), known: rest[1].known})
			return
		case strings.HasPrefix(s, "-S"), strings.HasPrefix(s, "--split-string="):
			a.nested(st, text{s: strings.TrimPrefix(strings.TrimPrefix(argv(rest).line(), "--split-string="), "-S"), known: rest[0].known})
			return
		case s == "-u" || s == "--unset":
			rest = rest[1:]
		case s == "--":
			a.env(st, append(argv{v[0]}, rest[1:]...))
			return
		case strings.HasPrefix(s, "-"):
		default:
			a.inner(st, rest)
			return
		}
		if len(rest) > 0 {
			rest = rest[1:]
		}
	}
}

// find follows the commands that find runs for what it finds.
func (a *analysis) find(st *state, v argv) {
	for i := 1; i < len(v); i++ {
		switch v[i].s {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			adds := !strings.HasSuffix(v[i].s, "dir") && v[i].s != "-exec" && v[i].s != "-ok" // as fd does, at the end
			var cmd argv
			for i++; i < len(v) && v[i].s != ";" && !(v[i].s == "+" && len(cmd) > 0 && cmd[len(cmd)-1].s == "{}"); i++ {
				cmd = append(cmd, v[i])
			}
			cmd = replaced(cmd, "{}")
			if adds && known(cmd) {
				cmd = append(cmd, text{s: "{}", split: true})
			}
			a.inner(st.clone(), cmd)
		case "-delete":
			a.add(permission.Value{Tool: "write_file", DenyOnly: true, Unknown: true})
		case "-files0-from":
			a.files(st, "cat", v[i:min(i+2, len(v))])
			a.add(permission.Value{Tool: "read_file", DenyOnly: true, Unknown: true})
		case "-fprint", "-fprintf", "-fprint0", "-fls":
			if i++; i < len(v) {
				a.writes(st, v[i])
			}
		}
	}
}

// xargs follows xargs and parallel, which add words of their own.
func (a *analysis) xargs(st *state, name string, v argv) {
	w := wrappers["xargs"]
	if name == "parallel" {
		w = wrapper{short: "jIaNnLlSd", long: []string{"--jobs", "--colsep", "--arg-file", "--delay", "--timeout", "--joblog", "--workdir"}}
	}
	rest := skipOptions(v[1:], w)
	a.files(st, "cat", argumentFiles(v[:len(v)-len(rest)]))
	item := placeholder(v[1 : len(v)-len(rest)])
	if i := slices.IndexFunc(rest, func(t text) bool { return strings.HasPrefix(t.s, ":::") }); i >= 0 {
		if i == 0 { // the items are the commands
			for _, t := range rest[1:] {
				a.nested(st.clone(), t)
			}
			return
		}
		rest = rest[:i]
	}
	if len(rest) == 0 {
		if name == "parallel" {
			a.unknown(v.line())
		}
		return
	}
	if name == "parallel" { // it gives them to a shell
		script := slices.Clone(rest)
		for i, t := range script {
			script[i].s = parallelItem.ReplaceAllLiteralString(t.s, `"$item"`)
		}
		a.joined(st.clone(), script)
	}
	cmd := append(replaced(rest, item), text{s: "{}", split: true})
	a.inner(st.clone(), cmd)
	a.add(permission.Value{Tool: a.tool, Text: rest.line(), DenyOnly: true})
}

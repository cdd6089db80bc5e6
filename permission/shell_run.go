package permission

import (
	"slices"
	"strings"
)

// env follows env, which sets variables and the folder.
func (a *shell) env(st *state, v argv) {
	st = st.clone()
	rest := v[1:]
	for len(rest) > 0 {
		s := rest[0].s
		switch {
		case assignment.MatchString(s):
			name, value, _ := strings.Cut(s, "=")
			if !trusted.MatchString(name) && (powerful.MatchString(name) || !rest[0].known || !plainValue.MatchString(value)) {
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
func (a *shell) find(st *state, v argv) {
	for i := 1; i < len(v); i++ {
		switch v[i].s {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			var cmd argv
			for i++; i < len(v) && v[i].s != ";" && !(v[i].s == "+" && len(cmd) > 0 && cmd[len(cmd)-1].s == "{}"); i++ {
				t := v[i]
				if strings.Contains(t.s, "{}") {
					t.known, t.prefix = false, strings.Index(t.s, "{}")
				}
				cmd = append(cmd, t)
			}
			a.inner(st.clone(), cmd)
		case "-delete":
			a.add(Value{Tool: "write_file", DenyOnly: true, Unknown: true})
		case "-files0-from":
			a.files(st, "cat", v[i:min(i+2, len(v))])
			a.add(Value{Tool: "read_file", DenyOnly: true, Unknown: true})
		case "-fprint", "-fprintf", "-fprint0", "-fls":
			if i++; i < len(v) {
				a.writes(st, v[i])
			}
		}
	}
}

// xargs follows xargs and parallel, which add words of their own.
func (a *shell) xargs(st *state, name string, v argv) {
	w := wrappers["xargs"]
	if name == "parallel" {
		w = wrapper{short: "jIaNnLlSd", long: []string{"--jobs", "--colsep", "--arg-file", "--delay", "--timeout", "--joblog", "--workdir"}}
	}
	rest := skipOptions(v[1:], w)
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
		a.joined(st.clone(), rest)
	}
	cmd := append(slices.Clone(rest), text{s: "{}", split: true})
	a.inner(st.clone(), cmd)
	a.add(Value{Tool: a.tool, Text: rest.line(), DenyOnly: true})
}

// interpreter judges a run of an interpreter.
func (a *shell) interpreter(name string, v argv) {
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

package shell

import (
	"regexp"
	"strings"
)

var setFlags = regexp.MustCompile(`^[-+][euxovf]*$`)

// builtin follows the commands of the shell itself that change what later
// ones mean.
func (a *analysis) builtin(st *state, name string, v argv) {
	whole := v.line()
	switch name {
	case "cd", "pushd", "chdir":
		args := operands(v[1:], "")
		switch {
		case len(args) == 0 && name == "pushd", len(args) > 0 && args[0].s == "-":
			a.cd(st, text{})
		case len(args) == 0:
			a.cd(st, text{s: a.home, known: a.home != ""})
		default:
			a.cd(st, args[0])
		}
	case "popd":
		a.cd(st, text{})
	case "set":
		for i, t := range v[1:] {
			if t.s == "pipefail" && i > 0 && strings.HasSuffix(v[i].s, "o") {
				continue
			}
			if !t.known || !setFlags.MatchString(t.s) {
				a.unknown(whole)
				return
			}
		}
	case "hash", "alias", "enable", "shopt", "bind", "complete", "compgen", "compopt", "fc", "history", "dirs":
		if len(v) > 1 {
			a.unknown(whole)
		}
	case "source", ".":
		a.unknown(whole)
	case "trap":
		if args := operands(v[1:], ""); len(args) > 1 {
			a.nested(st.clone(), args[0])
		}
	case "mapfile", "readarray":
		for i, t := range v {
			if strings.HasPrefix(t.s, "-C") && i < len(v) {
				a.unknown(whole)
			}
		}
		a.setsAll(st, operands(v[1:], "dnOsuCc"))
	case "read":
		a.setsAll(st, operands(v[1:], "adinNptu"))
		for i, t := range v {
			if t.s == "-a" && i+1 < len(v) {
				a.sets(st, v[i+1])
			}
		}
	case "getopts":
		if len(v) > 2 {
			a.sets(st, v[2])
		}
	case "printf":
		if v.word(1) == "-v" && len(v) > 2 {
			a.sets(st, v[2])
		} else if len(v) > 1 && strings.HasPrefix(v[1].s, "-v") {
			a.unknown(whole)
		}
	case "unset":
		a.setsAll(st, operands(v[1:], ""))
	case "wait":
		if len(v) > 1 && strings.HasPrefix(v[1].s, "-p") {
			a.unknown(whole)
		}
	case "export", "declare", "typeset", "local", "readonly": // reached by a wrapper
		a.unknown(whole)
	case "let", "test", "[":
		for i, t := range v[1:] {
			isArith := name == "let" || t.s == "-v" || i > 0 && strings.HasPrefix(v[i].s, "-v")
			if isArith && (!t.known || strings.ContainsAny(t.s, "[$`=")) {
				a.unknown(whole)
			}
		}
	case "shift", "ulimit", "umask":
	}
}

func (a *analysis) setsAll(st *state, names argv) {
	for _, t := range names {
		a.sets(st, t)
	}
}

// sets gives a variable that a command sets an unknown value.
func (a *analysis) sets(st *state, name text) {
	if !name.known || strings.ContainsAny(name.s, "[") {
		a.unknown(name.s)
		return
	}
	a.assigned(name.s, "")
	st.set(name.s, text{})
}

package shell

import (
	"regexp"
	"strings"

	"github.com/agentworker/worker/permission/internal/program"
)

var setFlags = regexp.MustCompile(`^[-+][euxovf]*$`)

// identifier is the name of a variable, and not an element of one.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// builtin follows the commands of the shell itself that change what later ones
// mean. It reports whether v is one.
func (a *analysis) builtin(st *state, p *program.Program, v argv) bool {
	args := v.operands(p)
	switch p.Does {
	case doesEval:
		rest := v[1:]
		if rest.word(0) == "--" {
			rest = rest[1:]
		}
		a.joined(st, rest)
	case "folder":
		switch {
		case len(args) > 1, len(args) == 1 && args[0].s == "-", len(args) == 0 && v[0].s == "pushd":
			st.cd(text{})
		case len(args) == 0:
			st.cd(text{s: a.home, known: a.home != ""})
		default:
			st.cd(args[0])
		}
	case "elsewhere":
		st.cd(text{})
	case "set":
		for i, t := range v[1:] {
			if t.s == "pipefail" && i > 0 && strings.HasSuffix(v[i].s, "o") {
				continue
			}
			if !t.known || !setFlags.MatchString(t.s) {
				a.unknown(v.line(), "it changes how the shell reads what follows")
				break
			}
		}
	case "arguments":
		if len(v) > 1 {
			a.unknown(v.line(), "it changes what later commands mean")
		}
	case "later":
		if len(args) > 1 {
			later := st.clone()
			for name := range later.vars {
				later.vars[name] = text{}
			}
			later.cwd = ""
			a.joined(later, args[:1])
		}
	case "variables":
		for i, t := range v {
			if t.s == "-a" && i+1 < len(v) {
				a.sets(st, v[i+1])
			}
		}
		for _, t := range args[min(p.Number(program.Skip), len(args)):] {
			a.sets(st, t)
		}
	case "variable":
		if len(v) > 1 && strings.HasPrefix(v[1].s, "-v") {
			a.sets(st, append(args, text{})[0])
			a.sets(st, append(v, text{})[2])
		}
	case "arithmetic":
		for _, t := range v[1:] {
			if !t.known || !number.MatchString(t.s) {
				a.unknown(v.line(), whyArithmetic)
				break
			}
		}
	case "test":
		for i, t := range v[1:] {
			if strings.HasPrefix(t.s, "-v") || i > 0 && v[i].s == "-v" && (!t.known || !identifier.MatchString(t.s)) || t.s == "-R" {
				a.unknown(v.line(), "-v evaluates what stands in brackets: test the value")
				break
			}
		}
	default:
		return false
	}
	return true
}

// sets gives a variable that a command sets an unknown value.
func (a *analysis) sets(st *state, name text) {
	if !name.known || !identifier.MatchString(name.s) {
		a.unknown(name.s, "the name of the variable is not certain")
		return
	}
	a.assigned(name.s, "")
	st.set(name.s, text{})
}

package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agentworker/worker/permission/internal/program"
)

const whyVariable = "the variable may change what later commands do: set it for one command that is known"

// tame reports whether a variable may have the value without a question, plain
// whether no program takes it for a command or a path.
func (t text) tame(name string) bool { return t.known && program.Tame(name, t.s) }
func (t text) plain() bool           { return t.known && program.PlainValue(t.s) }

// assigned looks at an assignment of a variable: one that decides what programs
// do makes everything after it unknown.
func (a *analysis) assigned(name, written string) {
	if program.Powerful(name) {
		if written == "" {
			written = name + "="
		}
		a.unknown(written, whyVariable)
	}
}

// assigns follows assignments, before a command or without one.
func (a *analysis) assigns(st *state, c *syntax.CallExpr) {
	for _, as := range c.Assigns {
		value := a.assign(st, as)
		if as.Name == nil {
			continue
		}
		name := as.Name.Value
		if len(c.Args) == 0 {
			if !value.tame(name) {
				a.assigned(name, a.written(as))
			}
			st.set(name, value)
			continue
		}
		a.given(name, value, a.written(as))
		if _, ok := st.vars[name]; ok { // a builtin or a function may see it, and keep it
			defer st.set(name, text{})
		}
	}
}

// given looks at a variable that one command is given.
func (a *analysis) given(name string, value text, written string) {
	if value.tame(name) || !program.Powerful(name) && identifier.MatchString(name) && value.plain() {
		return
	}
	a.unknown(written, "the variable may change what the command does")
	if value.known && strings.ContainsAny(value.s, " \t") { // it may be a command
		a.elsewhere(value.s, false)
	}
}

// assign looks at one assignment and returns its value.
func (a *analysis) assign(st *state, as *syntax.Assign) text {
	a.expand(st).arithm(as.Index)
	if as.Array != nil {
		for _, e := range as.Array.Elems {
			a.expand(st).arithm(e.Index)
			a.expand(st).word(e.Value)
		}
		return text{}
	}
	if as.Value == nil {
		return text{known: !as.Naked}
	}
	value := a.expand(st).word(as.Value)
	if as.Append || as.Index != nil {
		value = text{}
	}
	value.split = false
	with := appendNew(nil, value.with)
	value.with = strings.Join(append(with, a.written(as)), "; ")
	if len(value.with) > maxWith {
		value.with = value.with[:maxWith] + "…"
	}
	return value
}

// maxWith bounds the bytes of what a value is said to depend on.
const maxWith = 1000

// decl follows declare, export and their like.
func (a *analysis) decl(st *state, c *syntax.DeclClause) {
	for _, as := range c.Args {
		value := a.assign(st, as)
		switch {
		case as.Name == nil && as.Value != nil: // an option, or a word that expands
			if t := a.expand(st).word(as.Value); !t.known || !strings.HasPrefix(t.s, "-") || strings.Trim(t.s, "-xrpaAgt") != "" {
				a.unknown(a.written(c), "the option changes what the variable's value means") // a reference, a function, arithmetic, another case
			}
		case as.Name == nil:
		case as.Naked:
			a.assigned(as.Name.Value, a.written(c))
			if c.Variant.Value != "export" && c.Variant.Value != "readonly" {
				st.set(as.Name.Value, text{})
			}
		default:
			if !value.tame(as.Name.Value) {
				a.assigned(as.Name.Value, a.written(c))
				if c.Variant.Value == "export" && !value.plain() {
					a.unknown(a.written(c), whyVariable)
				}
			}
			st.set(as.Name.Value, value)
		}
	}
}

package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// test looks at the words of [[ … ]].
func (a *analysis) test(st *state, x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.Word:
		a.word(st, x)
	case *syntax.ParenTest:
		a.test(st, x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			a.arithmName(st, x.X)
		}
		a.test(st, x.X)
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			a.arithmName(st, x.X) // both sides are arithmetic
			a.arithmName(st, x.Y)
		}
		a.test(st, x.X)
		a.test(st, x.Y)
	}
}

// arithmName judges a word that is evaluated as arithmetic.
func (a *analysis) arithmName(st *state, x syntax.TestExpr) {
	if w, ok := x.(*syntax.Word); ok {
		a.arithm(st, w)
	}
}

// number is a value that arithmetic takes as it is.
var number = regexp.MustCompile(`^\s*[-+]?[0-9a-fA-FxX#]*\s*$`)

// arithm looks at arithmetic. The value of a variable there is evaluated in
// turn, and may run commands.
func (a *analysis) arithm(st *state, x syntax.ArithmExpr) {
	switch x := x.(type) {
	case nil:
	case *syntax.Word:
		if x == nil {
			return
		}
		t := a.word(st, x)
		name := strings.Trim(t.s, "${}")
		value, set := st.vars[name]
		switch {
		case set && (!value.known || !number.MatchString(value.s)):
			a.unknown(a.written(x))
		case t.known && strings.ContainsAny(t.s, "[$`"):
			a.unknown(a.written(x))
		}
	case *syntax.BinaryArithm:
		a.arithm(st, x.X)
		a.arithm(st, x.Y)
		if w, ok := x.X.(*syntax.Word); ok && strings.HasSuffix(x.Op.String(), "=") && x.Op != syntax.Eql && x.Op != syntax.Neq && x.Op != syntax.Leq && x.Op != syntax.Geq {
			a.assigned(w.Lit(), a.written(x))
		}
	case *syntax.UnaryArithm:
		a.arithm(st, x.X)
	case *syntax.ParenArithm:
		a.arithm(st, x.X)
	default:
		a.unknown(a.written(x))
	}
}

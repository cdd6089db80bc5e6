package shell

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// word evaluates a word that stays one, and looks at all that it would run.
func (a *analysis) word(st *state, w *syntax.Word) text {
	if w == nil {
		return text{known: true}
	}
	if a.spent {
		return text{}
	}
	var b wordBuilder
	a.parts(st, &b, w.Parts, false)
	t := b.text()
	a.spend(len(t.s) / 1024) // long words take long
	t.subst = len(w.Parts) == 1 && isSubst(w.Parts[0])
	if len(w.Parts) == 1 {
		_, t.proc = w.Parts[0].(*syntax.ProcSubst)
	}
	return t
}

func isSubst(p syntax.WordPart) bool { _, ok := p.(*syntax.CmdSubst); return ok }

// fields evaluates a word as an argument: braces are expanded, and variables
// with blanks are split. Patterns are left to globbed.
func (a *analysis) fields(st *state, w *syntax.Word) []text {
	if w == nil {
		return nil
	}
	tooMany := func() []text {
		a.word(st, w) // for what it would run
		return []text{{s: a.written(w), split: true}}
	}
	if openBraces(w.Parts) > maxOpenBraces {
		return tooMany()
	}
	clone := *w
	clone.Parts = slices.Clone(w.Parts)
	if !syntax.SplitBraces(&clone) {
		return splitFields(a.word(st, w))
	}
	if braces(clone.Parts) > maxBraces {
		return tooMany()
	}
	var all []text
	for word, err := range expand.BracesSeq(nil, &clone) {
		if err != nil || len(all) > 200 {
			return tooMany()
		}
		all = append(all, splitFields(a.word(st, word))...)
	}
	return all
}

// maxOpenBraces bounds the braces of a word that is searched for groups, which
// takes time and memory quadratic in their number.
const maxOpenBraces = 100

func openBraces(parts []syntax.WordPart) (n int) {
	for _, p := range parts {
		if lit, ok := p.(*syntax.Lit); ok {
			n += strings.Count(lit.Value, "{")
		}
	}
	return n
}

// braces returns the number of groups of braces, up to one more than allowed.
func braces(parts []syntax.WordPart) int {
	n := 0
	for _, p := range parts {
		b, ok := p.(*syntax.BraceExp)
		if !ok {
			continue
		}
		n++
		for _, e := range b.Elems {
			if n <= maxBraces {
				n += braces(e.Parts)
			}
		}
		if n > maxBraces {
			break
		}
	}
	return n
}

// splitFields splits the value of unquoted variables at blanks.
func splitFields(t text) []text {
	if !t.known || !t.split {
		return []text{t}
	}
	t.split = false
	parts := strings.Fields(t.s)
	if len(parts) == 1 && parts[0] == t.s {
		return []text{t}
	}
	var all []text
	for _, part := range parts {
		f := t
		f.s, f.pattern = part, part
		f.glob = strings.ContainsAny(part, "*?[")
		all = append(all, f)
	}
	return all
}

// wordBuilder puts a text together.
type wordBuilder struct {
	s, pat strings.Builder
	t      text
	vague  bool
}

func (b *wordBuilder) literal(s string) {
	b.s.WriteString(s)
	b.pat.WriteString(pattern.QuoteMeta(s, 0))
}

func (b *wordBuilder) active(s string) { // unquoted
	b.s.WriteString(s)
	b.pat.WriteString(s)
	if strings.ContainsAny(s, "*?[") {
		b.t.glob = true
	}
}

func (b *wordBuilder) unknown(written string, quoted bool) {
	if !b.vague {
		b.vague, b.t.prefix = true, b.s.Len()
	}
	b.s.WriteString(written)
	if !quoted {
		b.t.split = true
	}
}

func (b *wordBuilder) text() text {
	t := b.t
	t.s, t.known = b.s.String(), !b.vague
	if t.known {
		t.prefix = 0
	}
	if t.glob {
		t.pattern = b.pat.String()
	}
	return t
}

// parts evaluates the parts of a word into b.
func (a *analysis) parts(st *state, b *wordBuilder, parts []syntax.WordPart, quoted bool) {
	for i, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			a.lit(st, b, p.Value, quoted, i == 0 && !quoted, len(parts) == 1)
		case *syntax.SglQuoted:
			s := p.Value
			if p.Dollar {
				decoded, err := expand.Literal(nil, &syntax.Word{Parts: []syntax.WordPart{p}})
				if err != nil {
					b.unknown(a.written(p), quoted)
					continue
				}
				s = decoded
			}
			b.literal(s)
		case *syntax.DblQuoted:
			a.parts(st, b, p.Parts, true)
		case *syntax.ParamExp:
			a.param(st, b, p, quoted)
		case *syntax.CmdSubst:
			a.stmts(st.clone(), p.Stmts)
			b.unknown(a.written(p), quoted)
		case *syntax.ArithmExp:
			a.arithm(st, p.X)
			b.unknown(a.written(p), true)
		case *syntax.ProcSubst:
			a.stmts(st.clone(), p.Stmts)
			switch {
			case len(p.Stmts) == 0: // bash puts nothing in its place
			case len(parts) > 1:
				b.unknown(a.written(p), true)
			default:
				b.literal("/dev/fd/63")
			}
		case *syntax.ExtGlob:
			b.unknown(a.written(p), false)
		default:
			b.unknown(a.written(p), quoted)
		}
	}
}

// lit evaluates a literal, whose backslashes are still there.
func (a *analysis) lit(st *state, b *wordBuilder, s string, quoted, first, alone bool) {
	if first && strings.HasPrefix(s, "~") {
		user, rest, slash := strings.Cut(s[1:], "/")
		switch {
		case user != "" || !slash && !alone:
			b.unknown(s, false)
			return
		case a.home == "":
			b.unknown("~", true)
		default:
			b.literal(a.home)
		}
		if s = rest; slash {
			s = "/" + rest
		}
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s):
			i++
			switch {
			case s[i] == '\n':
			case quoted && strings.IndexByte("$`\"\\", s[i]) < 0:
				b.literal(s[i-1 : i+1])
			default:
				b.literal(s[i : i+1])
			}
		case quoted:
			b.literal(s[i : i+1])
		default:
			b.active(s[i : i+1])
		}
	}
}

// param evaluates "$x" and its longer forms, of which only the plain one has
// a certain value.
func (a *analysis) param(st *state, b *wordBuilder, p *syntax.ParamExp, quoted bool) {
	a.arithm(st, p.Index)
	if p.Slice != nil {
		a.arithm(st, p.Slice.Offset)
		a.arithm(st, p.Slice.Length)
	}
	if p.Repl != nil {
		a.word(st, p.Repl.Orig)
		a.word(st, p.Repl.With)
	}
	if p.Exp != nil {
		a.word(st, p.Exp.Word)
		switch p.Exp.Op {
		case syntax.OtherParamOps: // ${x@P} expands the value
			a.unknown(a.written(p))
		case syntax.AssignUnset, syntax.AssignUnsetOrNull:
			a.assigned(p.Param.Value, a.written(p))
			st.set(p.Param.Value, text{})
		}
	}
	plain := p.Param != nil && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil &&
		!p.Excl && !p.Length && !p.Width && p.Names == 0
	if !plain {
		b.unknown(a.written(p), quoted)
		return
	}
	name := p.Param.Value
	value, ok := st.vars[name]
	switch {
	case ok:
	case name == "HOME" && a.home != "":
		value = text{s: a.home, known: true}
	case name == "PWD" && len(st.cwd) == 1:
		value = text{s: st.cwd[0], known: true}
	case name == "IFS" && !quoted:
		b.active(" ")
		b.t.split = true
		return
	}
	if !value.known || b.s.Len()+len(value.s) > maxVariable {
		b.unknown(a.written(p), quoted)
		return
	}
	if quoted {
		b.literal(value.s)
		return
	}
	b.active(value.s)
	if strings.ContainsAny(value.s, " \t\n") || value.s == "" {
		b.t.split = true
	}
}

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

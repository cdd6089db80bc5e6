package shell

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// expander evaluates the words of a command in a state.
type expander struct {
	*analysis
	st *state
}

func (a *analysis) expand(st *state) expander { return expander{a, st} }

// word evaluates a word that stays one, and looks at all that it would run.
func (e expander) word(w *syntax.Word) text {
	if w == nil {
		return text{known: true}
	}
	if e.spent {
		return text{}
	}
	var b wordBuilder
	e.parts(&b, w.Parts, false)
	t := b.text()
	e.spend(len(t.s) / 1024) // long words take long
	if len(w.Parts) == 1 {
		_, t.number = w.Parts[0].(*syntax.ArithmExp)
		_, t.subst = w.Parts[0].(*syntax.CmdSubst)
	}
	return t
}

// fields evaluates a word as an argument: variables with blanks are split.
func (e expander) fields(w *syntax.Word) []text {
	t := e.word(w)
	clone := *w
	clone.Parts = slices.Clone(w.Parts)
	if strings.Count(t.s, "{") > maxBraces || syntax.SplitBraces(&clone) { // several words
		t.prefix = min(t.prefix, strings.IndexByte(t.s, '{'))
		t.known, t.split = false, true
		return []text{t}
	}
	return splitFields(t)
}

// splitFields splits the value of unquoted variables at blanks.
func splitFields(t text) []text {
	if !t.known || !t.split {
		return []text{t}
	}
	parts := strings.Fields(t.s)
	var all []text
	for _, part := range parts {
		var b wordBuilder
		b.active(part)
		f := b.text()
		f.with = t.with
		all = append(all, f)
	}
	return all
}

// wordBuilder puts a text together.
type wordBuilder struct {
	s     strings.Builder
	t     text
	vague bool
	with  []string
}

func (b *wordBuilder) literal(s string) { b.s.WriteString(s) }

// active adds what is not quoted: a pattern is what the files are called.
func (b *wordBuilder) active(s string) {
	if at := strings.IndexAny(s, "*?["); at >= 0 && !b.vague {
		b.vague, b.t.prefix = true, b.s.Len()+at
	}
	b.s.WriteString(s)
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
	t.s = b.s.String()
	t.known = !b.vague || t.s == "["
	if t.known {
		t.prefix = len(t.s)
	}
	t.with = strings.Join(b.with, "; ")
	return t
}

// parts evaluates the parts of a word into b.
func (e expander) parts(b *wordBuilder, parts []syntax.WordPart, quoted bool) {
	for i, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			e.lit(b, p.Value, quoted, i == 0 && !quoted, len(parts) == 1)
		case *syntax.SglQuoted:
			s, err := p.Value, error(nil)
			if p.Dollar {
				s, err = expand.Literal(nil, &syntax.Word{Parts: []syntax.WordPart{p}})
			}
			if err != nil || p.Dollar && e.plainer {
				b.unknown(e.written(p), quoted)
				continue
			}
			b.literal(s)
		case *syntax.DblQuoted:
			e.parts(b, p.Parts, true)
		case *syntax.ParamExp:
			e.param(b, p, quoted)
		case *syntax.CmdSubst:
			e.stmts(e.st.clone(), p.Stmts)
			b.unknown(e.written(p), quoted)
		case *syntax.ArithmExp:
			e.arithm(p.X)
			b.unknown(e.written(p), true)
		case *syntax.ProcSubst:
			e.stmts(e.st.clone(), p.Stmts)
			if len(parts) > 1 {
				b.unknown(e.written(p), true)
			} else if len(p.Stmts) > 0 { // else bash replaces it by nothing
				b.literal(processFile)
			}
		default:
			b.unknown(e.written(p), quoted)
		}
	}
}

// processFile is the file of a process substitution.
const processFile = "/dev/fd/63"

// lit evaluates a literal, whose backslashes are still there.
func (e expander) lit(b *wordBuilder, s string, quoted, first, alone bool) {
	if first && strings.HasPrefix(s, "~") {
		user, rest, slash := strings.Cut(s[1:], "/")
		switch {
		case user != "" || !slash && !alone:
			b.unknown(s, false)
			return
		case e.home == "":
			b.unknown("~", true)
		default:
			b.literal(e.home)
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

// special are parameters whose values are numbers.
const special = "?#$!"

// param evaluates "$x" and its longer forms, of which only the plain one has
// a certain value.
func (e expander) param(b *wordBuilder, p *syntax.ParamExp, quoted bool) {
	if w, ok := p.Index.(*syntax.Word); !ok || w.Lit() != "@" && w.Lit() != "*" {
		e.arithm(p.Index)
	}
	if p.Slice != nil {
		e.arithm(p.Slice.Offset)
		e.arithm(p.Slice.Length)
	}
	if p.Repl != nil {
		e.word(p.Repl.Orig)
		e.word(p.Repl.With)
	}
	if p.Exp != nil {
		e.word(p.Exp.Word)
		switch p.Exp.Op {
		case syntax.OtherParamOps: // ${x@P} expands the value
			e.unknown(e.written(p), "it may evaluate the value of the variable")
		case syntax.AssignUnset, syntax.AssignUnsetOrNull:
			e.assigned(p.Param.Value, e.written(p))
			e.st.set(p.Param.Value, text{})
		}
	}
	if p.Excl && p.Names == 0 {
		e.unknown(e.written(p), "it evaluates the value of the variable as a name: name it")
	}
	name := p.Param.Value
	value, ok := e.st.vars[name]
	if value.with != "" {
		b.with = appendNew(b.with, value.with)
	}
	plain := p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil &&
		!p.Excl && !p.Length && !p.Width && p.Names == 0
	switch {
	case !plain, ok:
	case name == "HOME" && e.home != "":
		value = literal(e.home)
	case name == "PWD" && e.st.cwd != "":
		value = literal(e.st.cwd)
	case name == "IFS" && !quoted:
		b.active(" ")
		b.t.split = true
		return
	}
	if !plain || !value.known || b.s.Len()+len(value.s) > maxVariable {
		b.unknown(e.written(p), quoted || strings.Contains(special, name))
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
func (e expander) test(x syntax.TestExpr) {
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.UnaryTest:
			if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
				e.unknown("[[ -v", "it evaluates what stands in brackets: test the value")
			}
		case *syntax.BinaryTest:
			switch n.Op {
			case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr: // both sides are arithmetic
				e.arithm(n.X)
				e.arithm(n.Y)
				return false
			}
		case *syntax.Word:
			e.word(n)
			return false
		}
		return true
	})
}

// number is a value that arithmetic does not evaluate again.
var number = regexp.MustCompile(`^\s*[-+]?[0-9]+\s*$`)

// isNumber reports whether the text is a number, whichever.
func (t text) isNumber() bool { return t.number || t.known && number.MatchString(t.s) }

const whyArithmetic = "arithmetic runs the commands in the text of a variable: use numbers, or variables that the line sets to numbers"

// arithm looks at arithmetic. The value of a variable there is evaluated in
// turn, and may run commands.
func (e expander) arithm(x syntax.Node) {
	if x == nil || reflect.ValueOf(x).IsNil() {
		return
	}
	set := map[syntax.Node]bool{} // variables that are not read
	var targets []string
	syntax.Walk(x, func(n syntax.Node) bool {
		var target syntax.ArithmExpr
		switch n := n.(type) {
		case *syntax.BinaryArithm:
			if op := n.Op.String(); strings.HasSuffix(op, "=") && strings.IndexByte("=!<>", op[0]) < 0 || op == "=" {
				target, set[n.X] = n.X, op == "="
			}
		case *syntax.UnaryArithm:
			if n.Op == syntax.Inc || n.Op == syntax.Dec {
				target = n.X
			}
		case *syntax.Word:
			t := e.word(n)
			name := n.Lit()
			p, _ := n.Parts[0].(*syntax.ParamExp)
			if q, ok := n.Parts[0].(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
				p, _ = q.Parts[0].(*syntax.ParamExp)
			}
			if p != nil && len(n.Parts) == 1 {
				name = p.Param.Value
				t.number = t.number || p.Length || p.Short && strings.Contains(special, name)
			}
			if !t.isNumber() && !number.MatchString(t.s) && !e.st.vars[name].isNumber() && !(set[n] && identifier.MatchString(name)) {
				e.unknown(e.written(n), whyArithmetic)
			}
			return false
		}
		if w, ok := target.(*syntax.Word); ok {
			targets = append(targets, w.Lit())
		}
		return true
	})
	for _, name := range targets {
		e.assigned(name, e.written(x))
		e.st.set(name, text{number: true})
	}
}

package shell

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

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

package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// text is what a word becomes. It is comparable.
type text struct {
	s       string // with what is not known as it is written
	pattern string // s as a pattern, if glob: quoted characters are escaped
	known   bool   // all of s is certain
	glob    bool   // the shell expands it to file names
	split   bool   // the shell may make several words of it
	subst   bool   // it is nothing but a substitution of a command
	proc    bool   // it is the file of a process substitution
	prefix  int    // how much of s is certain, if not all
}

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

package offlinemodel

import (
	"cmp"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
)

// place is a line that may answer the question.
type place struct {
	path  string
	line  int // 0 means the file as such; nothing in it is known
	text  string
	kind  string
	score float64
}

// known reports whether the topic or a path of the prompt has found the place.
func (p place) known() bool { return p.score >= knownScore/2 }

// What counts how much.
const (
	nameShare    = 1.8 // a term in the name of the file
	folderShare  = 0.45
	oftenShare   = 0.6 // a term that stands often in the file
	definedShare = 1.5 // a term in the name that a line defines
	rarity       = 0.35
	knownScore   = 100 // of what the topic or a path of the prompt finds, more than any other
)

// rank scores the files and lines of the evidence.
func (r *researcher) rank() {
	for p, f := range r.ev.files {
		r.held[p] = map[int]matched{}
		counted := make([]bool, len(r.q.terms))
		for n, l := range f.lines {
			m := match(r.q.terms, l)
			for i, x := range m {
				if x > 0 && !counted[i] {
					counted[i] = true
					r.found[i]++
				}
			}
			if m.sum() > 0 {
				r.held[p][n] = m
			}
		}
	}
	for _, p := range r.ev.names {
		r.rankFile(p)
	}
	r.rankTopic()
	r.rankPaths()
	slices.SortFunc(r.places, func(a, b place) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line))
	})
}

// weight returns the weight of a term, which is the less the more files hold it.
func (r *researcher) weight(i int) float64 {
	return r.q.terms[i].weight / (1 + rarity*math.Log1p(float64(r.found[i])))
}

// rankFile scores a file by its name and what it holds, and then its lines.
func (r *researcher) rankFile(p string) {
	base := strings.TrimPrefix(path.Base(p), ".")
	base = strings.TrimSuffix(base, path.Ext(base))
	named, above, held := match(r.q.terms, base), match(r.q.terms, path.Dir(p)), r.held[p]
	numbers := slices.Sorted(maps.Keys(held))
	score, covered, strong := 0.0, 1.0, 1.0
	for i, t := range r.q.terms {
		often := 0.0
		for _, n := range numbers {
			often += held[n][i]
		}
		score += r.weight(i) * (nameShare*named[i] + folderShare*above[i] + oftenShare*often/(often+3))
		if !t.weak {
			strong++
			covered += min(named[i]+above[i]+often, 1)
		}
	}
	if score == 0 {
		return
	}
	kind, prior := r.prior(p)
	lang := language(p)
	prior *= math.Pow(covered/strong, 2)
	if len(held) == 0 {
		r.places = append(r.places, place{path: p, kind: kind, score: 0.8 * prior * score})
		return
	}
	for _, n := range numbers {
		l := place{path: p, line: n, text: r.ev.files[p].lines[n], kind: kind}
		name, strength := defines(lang, l.text)
		l.score = r.lineScore(l.text, held[n], match(r.q.terms, name), strength)
		switch {
		case !r.q.asks("usage"):
			l.score += score
		case name != "", isComment(lang, l.text), matches("import", l.text):
			l.score *= 0.2
		}
		l.score *= prior
		r.places = append(r.places, l)
	}
}

// lineScore scores a line by the terms on it, and in what it defines.
func (r *researcher) lineScore(line string, on, defined matched, strength float64) float64 {
	score, value := 0.0, false
	for i, t := range r.q.terms {
		score += r.weight(i) * (on[i] + definedShare*strength*defined[i])
		_, after, ok := strings.Cut(strings.ToLower(line), t.name)
		value = value || ok && !t.weak && matches("number", after)
	}
	if value && r.q.asks("value") && !matches("compares", line) {
		score *= 2.5
	}
	return score
}

// prior returns the kind of a file, and how much what it holds is worth for the
// query.
func (r *researcher) prior(p string) (kind string, w float64) {
	kind, w = kindOf(p)
	if patterns()[kind] != nil && r.q.asks(kind) {
		w = 1.2
	}
	if kind != "test" && r.q.asks("value") && matches("defaults", p) {
		w *= 1.5
	}
	for _, q := range r.q.paths {
		if p == q.path || strings.HasPrefix(p, q.path+"/") || q.sure && strings.HasSuffix(p, "/"+q.path) {
			w = max(w, 1) * 2
		}
	}
	for n := range r.held[p] {
		if len(r.q.text) > 16 && strings.Contains(r.ev.files[p].lines[n], r.q.text) {
			w = min(w, 0.05) // it holds the question itself, and maybe an answer of this model
		}
	}
	return kind, w * math.Pow(0.98, float64(strings.Count(p, "/")))
}

// rankPaths adds the files that a prompt names, if it names nothing to look for
// in them: the line it names, else the first one.
func (r *researcher) rankPaths() {
	if len(r.beside) > 0 || r.q.asks("usage") {
		return
	}
	for i, p := range r.q.paths {
		name, line := r.ev.resolve(p.path), max(p.line, 1)
		if f := r.ev.files[name]; f != nil && f.lines[line] != "" {
			kind, _ := kindOf(name)
			r.places = append(r.places, place{name, line, f.lines[line], kind, 2*knownScore - float64(i)})
		}
	}
}

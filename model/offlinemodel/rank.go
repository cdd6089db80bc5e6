package offlinemodel

import (
	"cmp"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
)

// place is a line that may answer the question.
type place struct {
	path  string
	line  int // 0: the file as such; nothing in it is known
	text  string
	score float64
	def   definition // empty name: none
	kind  string
	known bool // found by the topic or a path of the prompt
}

// What counts how much.
const (
	nearLines    = 8  // above and below
	bodyLines    = 25 // below a definition
	nearShare    = 0.45
	nameShare    = 1.8 // a term in the name of the file
	folderShare  = 0.45
	oftenShare   = 0.6 // a term that stands often in the file
	definedShare = 1.5 // a term in the name that a line defines
	eachMore     = 0.35
	rarity       = 0.35
	longLineSize = 300 // bytes; longer ones are generated more often than written
	knownScore   = 100
)

// ranker scores files and lines of the evidence.
type ranker struct {
	q      *query
	ev     *evidence
	own    map[string]bool              // the repository's own name: it tells nothing of where something is in it
	weight []float64                    // of each term, by how rare it is
	most   float64                      // the sum of the weights of strong terms
	held   map[string]map[int][]float64 // how well each term matches a line, by file
	files  map[string]float64           // by path
	places []place                      // the best first
	found  []int                        // in how many files each term was found
}

// newRanker ranks what has been found.
func newRanker(q *query, ev *evidence, system string) *ranker {
	r := &ranker{q: q, ev: ev, own: ownName(system), found: make([]int, len(q.terms))}
	r.held, r.files = map[string]map[int][]float64{}, map[string]float64{}
	for p := range ev.files {
		r.matchLines(p)
	}
	for i, t := range q.terms {
		r.weight = append(r.weight, t.weight/(1+rarity*math.Log1p(float64(r.found[i]))))
		if r.own[t.stem] || r.own[t.ident] {
			r.weight[i] *= 0.3
		}
		if !t.weak {
			r.most += r.weight[i]
		}
	}
	all := slices.Sorted(maps.Keys(ev.files))
	for _, n := range ev.names {
		if ev.files[n] == nil {
			all = append(all, n)
		}
	}
	for _, p := range all {
		r.rankFile(p)
	}
	r.rankTopic()
	r.rankPaths()
	slices.SortStableFunc(r.places, func(a, b place) int {
		return cmp.Or(-cmp.Compare(a.score, b.score), cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line))
	})
	return r
}

// rankPaths adds the files that a prompt names, if it names nothing to look for
// in them: the line it names, else the main thing there, else the first line.
func (r *ranker) rankPaths() {
	if len(r.besides()) > 0 || r.q.asks("usage") {
		return
	}
	for i, p := range r.q.paths {
		n := r.ev.resolve(p.path)
		if f := r.ev.files[n]; f != nil && f.read[max(p.line, 1)] {
			line := max(p.line, 1)
			kind, _ := kindOf(n)
			r.places = append(r.places, place{path: n, line: line, text: f.lines[line], kind: kind, score: 2*knownScore - float64(i), known: true})
		}
	}
}

// matchLines matches the terms against the lines of a file.
func (r *ranker) matchLines(p string) {
	f, best := r.ev.files[p], make([]float64, len(r.q.terms))
	r.held[p] = map[int][]float64{}
	for n, l := range f.lines {
		if f.whole && !f.read[n] {
			continue // a search has shown a line that is not there any more
		}
		if m := r.q.match(l); sum(m) > 0 {
			r.held[p][n] = m
			join(best, m)
		}
	}
	for i, b := range best {
		if b >= matchLeast {
			r.found[i]++
		}
	}
}

// rankFile scores a file, and the lines of it that hold a term.
func (r *ranker) rankFile(p string) {
	base := strings.TrimPrefix(path.Base(p), ".")
	if i := strings.LastIndex(base, "."); i > 0 {
		base = base[:i]
	}
	named, above, held := r.q.match(base), r.q.match(path.Dir(p)), r.held[p]
	precision := min(sum(named)/float64(max(len(subwords(base)), 1)), 1)
	score, covered := 0.0, 0.0
	for i, t := range r.q.terms {
		often, best := 0.0, 0.0
		for _, m := range held {
			often += m[i]
			best = max(best, m[i])
		}
		score += r.weight[i] * (nameShare*named[i]*(0.4+0.9*precision) + folderShare*above[i] + oftenShare*often/(often+3))
		if !t.weak {
			covered += r.weight[i] * max(best, named[i], 0.8*above[i])
		}
	}
	if score == 0 {
		return
	}
	cover := 1.0
	if r.most > 0 {
		cover = min(covered/r.most, 1)
	}
	if precision == 1 {
		cover = max(cover, 0.85) // the file is named for it
	}
	kind, prior := r.prior(p)
	prior *= 0.3 + 0.7*cover*cover
	r.files[p] = prior * score
	if len(held) == 0 {
		r.places = append(r.places, place{path: p, kind: kind, score: 0.8 * prior * score})
		return
	}
	r.rankLines(p, kind, prior, score)
}

// rankLines scores the lines of a file that hold a term.
func (r *ranker) rankLines(p, kind string, prior, score float64) {
	f, held, asked := r.ev.files[p], r.held[p], flat(r.q.text)
	for _, l := range f.lines {
		if len(asked) > 16 && strings.Contains(flat(l), asked) {
			prior = min(prior, 0.05) // holds the question itself, and maybe an answer of this model
		}
	}
	numbers := slices.Sorted(maps.Keys(held))
	for i, n := range numbers {
		l := place{path: p, line: n, text: f.lines[n], kind: kind}
		l.def, _ = defines(p, l.text)
		below := n + nearLines
		if l.def.body {
			below = n + bodyLines
		}
		near := slices.Clone(held[n])
		for j := i - 1; j >= 0 && numbers[j] >= n-nearLines; j-- {
			join(near, held[numbers[j]])
		}
		for j := i + 1; j < len(numbers) && numbers[j] <= below; j++ {
			join(near, held[numbers[j]])
		}
		l.score = r.lineScore(&l, held[n], near)
		switch {
		case !r.q.asks("usage"):
			l.score += score
		case l.def.name != "", isComment(p, l.text):
			l.score *= 0.2
		}
		l.score *= prior
		r.places = append(r.places, l)
	}
}

func join(to, from []float64) {
	for i := range to {
		to[i] = max(to[i], from[i])
	}
}

func sum(m []float64) (s float64) {
	for _, x := range m {
		s += x
	}
	return s
}

// lineScore scores a line by the terms on it and near it.
func (r *ranker) lineScore(l *place, on, near []float64) float64 {
	score, around, named, strong := 0.0, 0.0, 0.0, 0.0
	in, value := r.q.match(l.def.name), false
	for i, t := range r.q.terms {
		score += r.weight[i] * on[i]
		around += r.weight[i] * (near[i] - on[i])
		named += r.weight[i] * in[i]
		if on[i] >= matchLeast && !t.weak {
			strong++
		}
		_, after, ok := strings.Cut(strings.ToLower(l.text), cmp.Or(t.stem, t.ident, "\n"))
		value = value || ok && !t.weak && matches("number", after)
	}
	score = score*(1+eachMore*max(strong-1, 0)) + nearShare*around
	if l.def.name != "" {
		precision := min(sum(in)/float64(max(len(subwords(l.def.name)), 1)), 1)
		score += definedShare * l.def.strength * named * (0.4 + 0.6*precision)
	}
	if value && r.q.asks("value") && !matches("compares", l.text) {
		score *= 2.5
	}
	switch {
	case matches("import", l.text):
		score *= 0.35
	case l.kind == "document" && matches("quote", l.text):
		score *= 0.2 // quotes an answer
	case isComment(l.path, l.text):
		score *= 0.75
	case !r.q.asks("tests") && matches("testing", l.text):
		score *= 0.3
	}
	if len(l.text) > longLineSize {
		score *= 0.4
	}
	return score
}

// prior returns the kind of a file, and how much what it holds is worth for the
// query, by its path.
func (r *ranker) prior(p string) (kind string, w float64) {
	kind, w = kindOf(p)
	switch {
	case kind == "test" && r.q.asks("tests"), kind == "sample" && r.q.asks("sample"):
		w = 1.6
	case kind == "document" && r.q.asks("docs"), kind == "data" && r.q.asks("value"):
		w = 0.95
	}
	if kind != "test" && r.q.asks("value") && matches("defaults", p) {
		w *= 1.5
	}
	for _, q := range r.q.paths {
		if p == q.path || q.sure && strings.HasSuffix(p, "/"+q.path) {
			w = max(w, 1) * 2
		} else if strings.HasPrefix(p, q.path+"/") {
			w *= 1.7
		}
	}
	if slices.ContainsFunc(subwords(path.Dir(p)), func(word string) bool { return r.own[stem(word)] }) {
		w *= 1.15 // in the main part of several
	}
	return kind, w * math.Pow(0.98, float64(strings.Count(p, "/")))
}

// bestFiles returns the n files that score best.
func (r *ranker) bestFiles(n int) []string {
	out := slices.SortedFunc(maps.Keys(r.files), func(a, b string) int {
		return cmp.Or(-cmp.Compare(r.files[a], r.files[b]), strings.Compare(a, b))
	})
	out = slices.DeleteFunc(out, func(p string) bool { kind, _ := kindOf(p); return kind == "private" })
	return out[:min(len(out), n)]
}

var workFolder = regexp.MustCompile(`You work in the folder (\S+?)\.?(\s|$)`)

// ownName returns the repository's own name, by its folder.
func ownName(system string) map[string]bool {
	own := map[string]bool{}
	if m := workFolder.FindStringSubmatch(system); m != nil {
		n := flat(path.Base(strings.ReplaceAll(m[1], `\`, "/")))
		own[n], own[stem(n)] = true, true
	}
	return own
}

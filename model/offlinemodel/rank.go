package offlinemodel

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

// place is a line that terms were found on.
type place struct {
	path  string
	line  int
	text  string
	terms termSet
	near  termSet // also those on the lines around it
	score float64
	def   definition
	isDef bool
	kind  fileKind
}

// termSet is a set of indices into the terms of a query.
type termSet uint32

func (s termSet) has(i int) bool { return s&(1<<i) != 0 }

// How much the context of a line adds to its score.
const (
	nearLines    = 8   // above and below
	bodyLines    = 20  // below a definition
	nearShare    = 0.5 // of the weight of a term on such a line
	fileShare    = 0.15
	pathShare    = 0.3
	coverage     = 0.6 // of the score depends on how many of the terms are near
	akinCovers   = 0.6 // of a term that is near: a word of like meaning on the line
	fileCovers   = 0.5 // the same: elsewhere in the file, or in its path
	akinShare    = 0.35
	eachMore     = 0.4  // each further term on the line multiplies by this much more
	stemOnly     = 0.75 // a term is there in another form
	rarity       = 0.6
	longLineSize = 300 // bytes; longer ones are generated more often than written
)

// ranker scores the lines of the evidence.
type ranker struct {
	q      *query
	ev     *evidence
	weight []float64                  // of each term, by how rare it is
	most   float64                    // the largest weight
	held   map[string]map[int]matches // by file and line
	strong int                        // how many terms were found, without the weak ones
	lines  []int                      // how many lines hold each term
}

// newRanker counts the terms.
func newRanker(q *query, ev *evidence) *ranker {
	r := &ranker{q: q, ev: ev, weight: make([]float64, len(q.terms)), lines: make([]int, len(q.terms)), held: map[string]map[int]matches{}}
	for path, f := range ev.files {
		r.held[path] = make(map[int]matches, len(f.lines))
		for n, text := range f.lines {
			m := q.matches(text)
			r.held[path][n] = m
			for i := range q.terms {
				if m.set.has(i) {
					r.lines[i]++
				}
			}
		}
	}
	for i, t := range q.terms {
		n := float64(r.lines[i])
		if ev.cut[t.pattern] {
			n *= 4 // there are more than are known
		}
		r.weight[i] = t.weight / (1 + rarity*math.Log1p(n))
		if n > 0 && !t.weak {
			r.strong++
		}
		if n > 0 {
			r.most = max(r.most, r.weight[i])
		}
	}
	return r
}

// matches are the terms that a text holds.
type matches struct {
	set   termSet
	exact termSet // those of set that stand there as they are written
	akin  termSet // those not in set of which there is a word of like meaning
}

// matches returns the terms that a text holds.
func (q *query) matches(text string) matches {
	var m matches
	words := subwords(text)
	for i, t := range q.terms {
		if !t.words {
			if t.match.MatchString(text) {
				m.set |= 1 << i
				if strings.Contains(text, t.text) {
					m.exact |= 1 << i
				}
			}
			continue
		}
		low := strings.ToLower(t.text)
		for _, w := range words {
			switch {
			case t.match.MatchString(w):
				m.set |= 1 << i
				if w == low {
					m.exact |= 1 << i
				}
			case t.akin != nil && t.akin.MatchString(w):
				m.akin |= 1 << i
			}
		}
	}
	m.akin &^= m.set
	return m
}

// rank returns the lines that hold a term, the best first.
func (r *ranker) rank() []place {
	var out []place
	for _, path := range slices.Sorted(maps.Keys(r.ev.files)) {
		out = append(out, r.rankFile(path, r.ev.files[path])...)
	}
	slices.SortStableFunc(out, func(a, b place) int {
		return cmp.Or(-cmp.Compare(a.score, b.score), cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line))
	})
	return out
}

func (r *ranker) rankFile(path string, f *fileEvidence) []place {
	inPath := r.q.matches(path).set
	prior, kind := r.prior(path)
	numbers := slices.Sorted(maps.Keys(f.lines))
	held := make([]matches, len(numbers))
	var inFile termSet
	for i, n := range numbers {
		held[i] = r.held[path][n]
		inFile |= held[i].set
	}
	var out []place
	for i, n := range numbers {
		if held[i].set == 0 || f.whole && !f.read[n] {
			continue // a search has shown a line that is not there any more
		}
		p := place{path: path, line: n, text: f.lines[n], terms: held[i].set, kind: kind}
		p.def, p.isDef = defines(path, p.text)
		above, below := nearLines, nearLines
		if p.isDef && p.def.body {
			below = bodyLines
		}
		p.near = p.terms
		for j := i; j >= 0 && numbers[j] >= n-above; j-- {
			p.near |= held[j].set
		}
		for j := i; j < len(numbers) && numbers[j] <= n+below; j++ {
			p.near |= held[j].set
		}
		p.score = prior * r.lineScore(&p, held[i], inFile, inPath)
		out = append(out, p)
	}
	return out
}

func (r *ranker) lineScore(p *place, on matches, inFile, inPath termSet) float64 {
	own, near, file, inName := 0.0, 0.0, 0.0, 0.0
	for i, w := range r.weight {
		switch {
		case on.exact.has(i):
			own += w
		case on.set.has(i):
			own += w * stemOnly
		case p.near.has(i):
			near += w * nearShare
		case inFile.has(i):
			file += w * fileShare
		}
		if on.akin.has(i) {
			own += w * akinShare
		}
		if inPath.has(i) {
			inName += w * pathShare
		}
	}
	strong, strongNear, elsewhere := 0, 0, 0.0
	for i, t := range r.q.terms {
		switch {
		case t.weak:
		case p.terms.has(i):
			strong++
		case p.near.has(i):
			strongNear++
		case on.akin.has(i):
			elsewhere += akinCovers
		case inFile.has(i) || inPath.has(i):
			elsewhere += fileCovers
		}
	}
	score := own * (1 + eachMore*float64(max(strong-1, 0)))
	score += near*(1+eachMore*float64(max(strongNear-1, 0))) + file + inName
	if r.strong > 0 {
		covered := (float64(strong+strongNear) + elsewhere) / float64(r.strong)
		score *= 1 - coverage + coverage*covered
	}
	if p.isDef {
		named := r.q.matches(p.def.name)
		share := 0.0
		for i := range r.weight {
			switch {
			case named.set.has(i):
				share += 2 * r.weight[i] / r.most
			case named.akin.has(i):
				share += 2 * r.weight[i] / r.most * akinShare
			}
		}
		if share > 0 {
			score *= 1 + p.def.strength*(0.5+0.25*math.Min(share, 4))
		} else {
			score *= 1 + 0.15*p.def.strength
		}
	}
	switch {
	case importLine.MatchString(p.text):
		score *= 0.35
	case isComment(p.path, p.text) && strong < 2:
		score *= 0.8
	}
	if r.q.asked != "" && strings.Contains(flat(p.text), r.q.asked) {
		score *= 0.1 // the question itself, as a test or an example has it
	}
	if len(p.text) > longLineSize {
		score *= 0.4
	}
	return score
}

// prior returns how much what a file holds is worth for the query, by its path.
func (r *ranker) prior(path string) (float64, fileKind) {
	kind := kindOf(path)
	worth := kind.worth()
	switch {
	case kind == testFile && r.q.tests, kind == document && r.q.docs:
		worth = 1.2
	}
	for _, p := range r.q.paths {
		switch {
		case path == p.path:
			worth = max(worth, 1) * 2
		case p.file && strings.HasSuffix(path, "/"+p.path):
			worth = max(worth, 0.8) * 1.6
		case !p.file && strings.HasPrefix(path, p.path+"/"):
			worth *= 1.7
		}
	}
	return worth, kind
}

// flat returns the words of a text in lower case, a blank between each two.
func flat(s string) string { return strings.Join(subwords(s), " ") }

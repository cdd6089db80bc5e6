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
	path   string
	line   int // 0: the file as such; nothing in it is known
	text   string
	score  float64
	def    definition
	isDef  bool
	kind   fileKind
	topic  bool // found by the topic of the prompt
	inTest bool // below the mark that begins the tests of a source file
}

// What counts how much.
const (
	nearLines    = 8  // above and below
	bodyLines    = 25 // below a definition
	nearShare    = 0.45
	nameShare    = 1.4 // a term in the name of the file
	folderShare  = 0.45
	oftenShare   = 0.6 // a term that stands often in the file
	definedShare = 1.5 // a term in the name that a line defines
	eachMore     = 0.35
	rarity       = 0.35
	longLineSize = 300 // bytes; longer ones are generated more often than written
	topicScore   = 100
)

// ranker scores files and lines of the evidence.
type ranker struct {
	q      *query
	ev     *evidence
	own    map[string]bool // stems of the repository's own name
	weight []float64       // of each term, by how rare it is
	most   float64         // the sum of the weights of strong terms
	held   map[string]map[int][]float64
	files  map[string]float64 // by path
	places []place            // the best first
	found  []int              // in how many files each term was found
}

// newRanker ranks what has been found.
func newRanker(q *query, ev *evidence, own map[string]bool) *ranker {
	r := &ranker{q: q, ev: ev, own: own, weight: make([]float64, len(q.terms)), found: make([]int, len(q.terms)), held: map[string]map[int][]float64{}, files: map[string]float64{}}
	for p, f := range ev.files {
		seen := make([]bool, len(q.terms))
		r.held[p] = map[int][]float64{}
		for n, l := range f.lines {
			if f.whole && !f.read[n] {
				continue // a search has shown a line that is not there any more
			}
			in, any := newText(l), false
			m := make([]float64, len(q.terms))
			for i := range q.terms {
				m[i] = q.terms[i].match(&in)
				seen[i] = seen[i] || m[i] >= matchLeast
				any = any || m[i] > 0
			}
			if any {
				r.held[p][n] = m
			}
		}
		for i := range seen {
			if seen[i] {
				r.found[i]++
			}
		}
	}
	for i, t := range q.terms {
		r.weight[i] = t.weight / (1 + rarity*math.Log1p(float64(r.found[i])))
		if own[t.stem] || own[t.ident] {
			r.weight[i] *= 0.3
		}
		if !t.weak && t.pair == "" {
			r.most += r.weight[i]
		}
	}
	all := map[string]bool{}
	for _, n := range ev.names {
		all[n] = true
	}
	for p := range ev.files {
		all[p] = true
	}
	for _, p := range slices.Sorted(maps.Keys(all)) {
		r.rankFile(p, ev.files[p])
	}
	r.rankTopic()
	slices.SortStableFunc(r.places, func(a, b place) int {
		return cmp.Or(-cmp.Compare(a.score, b.score), cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line))
	})
	return r
}

// rankFile scores a file, and the lines of it that hold a term.
func (r *ranker) rankFile(p string, f *fileEvidence) {
	base, _, _ := strings.Cut(strings.TrimPrefix(path.Base(p), "."), ".")
	if parts := strings.Split(path.Base(p), "."); len(parts) > 2 {
		base = strings.Join(parts[:len(parts)-1], ".")
	}
	inBase, inFolder := newText(base), newText(path.Dir(p))
	words := float64(max(len(subwords(base)), 1))
	held := r.held[p]
	score, covered, hits := 0.0, 0.0, 0.0
	named := make([]float64, len(r.q.terms))
	for i := range r.q.terms {
		named[i] = r.q.terms[i].match(&inBase)
		hits += named[i]
	}
	precision := min(hits/words, 1)
	for i, t := range r.q.terms {
		often, best := 0.0, 0.0
		for _, m := range held {
			often += m[i]
			best = max(best, m[i])
		}
		folder := t.match(&inFolder)
		score += r.weight[i] * (nameShare*named[i]*(0.4+0.9*precision) + folderShare*folder + oftenShare*often/(often+3))
		if !t.weak && t.pair == "" {
			covered += r.weight[i] * max(best, named[i], 0.8*folder)
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
	prior, kind := r.prior(p)
	prior *= 0.3 + 0.7*cover*cover
	r.files[p] = prior * score
	if len(held) == 0 {
		r.places = append(r.places, place{path: p, kind: kind, score: 0.8 * prior * score})
		return
	}
	if asked := flat(r.q.text); f != nil && len(asked) > 16 {
		for _, l := range f.lines {
			if strings.Contains(flat(l), asked) {
				prior *= 0.1 // holds the question itself, and maybe an answer of this model
				break
			}
		}
	}
	testsFrom := math.MaxInt
	for n, l := range f.lines {
		if strings.HasPrefix(l, "#[cfg(test)]") {
			testsFrom = min(testsFrom, n)
		}
	}
	numbers := slices.Sorted(maps.Keys(held))
	for i, n := range numbers {
		l := place{path: p, line: n, text: f.lines[n], kind: kind, inTest: n > testsFrom}
		l.def, l.isDef = defines(p, l.text)
		above, below := n-nearLines, n+nearLines
		if l.isDef && l.def.body {
			below = n + bodyLines
		}
		near := slices.Clone(held[n])
		for j := i - 1; j >= 0 && numbers[j] >= above; j-- {
			join(near, held[numbers[j]])
		}
		for j := i + 1; j < len(numbers) && numbers[j] <= below; j++ {
			join(near, held[numbers[j]])
		}
		l.score = r.lineScore(&l, held[n], near)
		switch {
		case !r.q.usage:
			l.score += score
		case l.isDef, isComment(p, l.text):
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

var (
	quotesPlace = regexp.MustCompile(`[\w/]+\.\w+:\d+`)
	hasValue    = regexp.MustCompile(`^[^0-9;&|]{0,40}\b\d`)
	compares    = regexp.MustCompile(`[=!<>]=|\bif\b`)
	testLine    = regexp.MustCompile(`(?i)\b(assert\w*|expect)\b[.(!]|\bfn test_|\bfunc (Test|Benchmark)|\bdef test_`)
)

// lineScore scores a line by the terms on it and near it.
func (r *ranker) lineScore(l *place, on, near []float64) float64 {
	score, around, strong := 0.0, 0.0, 0
	for i, w := range r.weight {
		score += w * on[i]
		around += w * (near[i] - on[i])
		if on[i] >= matchLeast && !r.q.terms[i].weak && r.q.terms[i].pair == "" {
			strong++
		}
	}
	score = score*(1+eachMore*float64(max(strong-1, 0))) + nearShare*around
	if l.isDef {
		in := newText(l.def.name)
		named, hits := 0.0, 0.0
		for i, w := range r.weight {
			m := r.q.terms[i].match(&in)
			if r.q.terms[i].member != "" {
				m = max(m, on[i]) // res.json = function json
			}
			named += w * m
			hits += m
		}
		precision := min(hits/float64(max(len(subwords(l.def.name)), 1)), 1)
		score += definedShare * l.def.strength * named * (0.4 + 0.6*precision)
	}
	if r.q.value {
		score *= r.valueFactor(l.text)
	}
	if !r.q.tests && (testLine.MatchString(l.text) || l.inTest) {
		score *= 0.3
	}
	switch {
	case importLine.MatchString(l.text):
		score *= 0.35
	case l.kind == document && quotesPlace.MatchString(l.text):
		score *= 0.2 // quotes an answer
	case isComment(l.path, l.text):
		score *= 0.75
	}
	if len(l.text) > longLineSize {
		score *= 0.4
	}
	return score
}

// valueFactor tells lines that give something a number from others.
func (r *ranker) valueFactor(line string) float64 {
	low := strings.ToLower(line)
	for _, t := range r.q.terms {
		word := cmpOr(t.stem, t.ident)
		if i := strings.Index(low, word); i < 0 || t.weak || word == "" || !hasValue.MatchString(low[i+len(word):]) {
			continue
		}
		if compares.MatchString(line) {
			return 1.2
		}
		return 2.5
	}
	return 1
}

// prior returns how much what a file holds is worth for the query, by its path.
func (r *ranker) prior(p string) (float64, fileKind) {
	kind := kindOf(p)
	w := worth[kind]
	switch {
	case kind == testFile && r.q.tests, kind == sampleFile && r.q.sample:
		w = 1.6
	case kind == document && (r.q.docs || r.q.how):
		w = 0.95
	case kind == dataFile && r.q.value:
		w = 0.9
	}
	for _, q := range r.q.paths {
		switch {
		case p == q.path, q.sure && strings.HasSuffix(p, "/"+q.path):
			w = max(w, 1) * 2
		case strings.HasPrefix(p, q.path+"/"):
			w *= 1.7
		}
	}
	for word := range newText(path.Dir(p)).stems {
		if r.own[word] { // in the main part of several
			w *= 1.15
			break
		}
	}
	return w * math.Pow(0.98, float64(strings.Count(p, "/"))), kind
}

// rankTopic adds the places that the topic of the prompt finds.
func (r *ranker) rankTopic() {
	t := r.q.topic
	if t == nil {
		return
	}
	besides := (&researcher{q: *r.q, ranker: r}).besides()
	if t.alone && len(besides) > 0 {
		return
	}
	if t.name == "entry point" {
		r.rankMain()
	}
	for i, s := range t.sources {
		for j, name := range t.names(s, r.ev) {
			if f := r.ev.files[name]; f != nil {
				if p, ok := r.topicPlace(s, name, f, besides); ok {
					p.score -= float64(4*i + j)
					r.places = append(r.places, p)
				}
			}
		}
	}
}

// topicPlace finds the line of a file that a source of a topic speaks of.
func (r *ranker) topicPlace(s topicSource, name string, f *fileEvidence, besides []term) (best place, ok bool) {
	numbers := slices.Sorted(maps.Keys(f.read))
	for _, n := range numbers {
		if !s.find.MatchString(f.lines[n]) {
			continue
		}
		score := topicScore + r.share(f.lines[n], r.q.terms)
		line := n
		if len(besides) > 0 {
			most := 0.0
			for m := n; m <= f.sectionEnd(name, n); m++ {
				if got := r.share(f.lines[m], besides); got > most {
					most, line = got, m
				}
			}
			score *= most / float64(len(besides))
		}
		if !ok || score > best.score {
			best, ok = place{path: name, line: line, text: f.lines[line], kind: kindOf(name), score: score, topic: true}, true
		}
	}
	return best, ok && best.score > 0
}

// share returns how many of the terms stand on a line.
func (r *ranker) share(line string, terms []term) float64 {
	in, sum := newText(line), 0.0
	for _, t := range terms {
		if m := t.match(&in); m >= matchLeast {
			sum += m
		}
	}
	return sum
}

var mainFunction = regexp.MustCompile(`^(?:pub |public static |static )?(?:async )?(?:func|fn|def|int|void|fun) main\s*\(`)

// rankMain adds the main functions, those of the program itself first.
func (r *ranker) rankMain() {
	for p, f := range r.ev.files {
		kind := kindOf(p)
		for n, l := range f.lines {
			if kind != source || !mainFunction.MatchString(l) {
				continue
			}
			score := topicScore + 2.5 - float64(strings.Count(p, "/"))
			base, _, _ := strings.Cut(path.Base(p), ".")
			if in := newText(base + " " + path.Base(path.Dir(p))); base == "main" || base == "server" || slices.ContainsFunc(slices.Sorted(maps.Keys(in.stems)), func(s string) bool { return r.own[s] }) {
				score += 2
			}
			if base == "main" || base == "server" || r.own[stem(base)] {
				score += 2
			}
			r.places = append(r.places, place{path: p, line: n, text: l, kind: kind, score: score, topic: true, isDef: true, def: definition{"main", 1, true}})
		}
	}
}

// bestFiles returns the n files that score best.
func (r *ranker) bestFiles(n int) []string {
	out := slices.SortedFunc(maps.Keys(r.files), func(a, b string) int {
		return cmp.Or(-cmp.Compare(r.files[a], r.files[b]), strings.Compare(a, b))
	})
	out = slices.DeleteFunc(out, func(p string) bool { return kindOf(p) == private })
	return out[:min(len(out), n)]
}

var workFolder = regexp.MustCompile(`You work in the folder (\S+?)\.?(\s|$)`)

// repositoryName returns the words of the repository's own name, which tell
// nothing of where something is in it.
func repositoryName(system string, ev *evidence) map[string]bool {
	own := map[string]bool{}
	add := func(s string) {
		own[flat(s)], own[stem(flat(s))] = true, true
	}
	if m := workFolder.FindStringSubmatch(system); m != nil {
		add(path.Base(strings.ReplaceAll(m[1], `\`, "/")))
	}
	for name, f := range ev.files {
		if !strings.Contains(name, "/") && strings.HasPrefix(strings.ToLower(name), "readme") {
			if m := heading.FindStringSubmatch(f.lines[1]); m != nil && len(strings.Fields(m[1])) == 1 {
				add(m[1])
			}
		}
	}
	delete(own, "")
	return own
}

package offlinemodel

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// topic is something that people ask of any repository, and where repositories
// answer it.
type topic struct {
	name    string
	asked   *regexp.Regexp
	alone   bool // the topic holds only where the prompt names nothing else
	sources []topicSource
}

// topicSource says where an answer may stand: on a line that matches find, in
// the files whose names match.
type topicSource struct{ files, find *regexp.Regexp }

// topics in the order in which they are tried.
var topics = readTopics()

func readTopics() (out []*topic) {
	files := map[string]string{}
	for key, rest := range rows("topics") {
		switch where, find, isSource := strings.Cut(key+" "+rest, " => "); {
		case key == "files":
			name, pattern, _ := strings.Cut(rest, " ")
			files["{"+name+"}"] = pattern
		case key == "topic":
			out = append(out, &topic{name: rest})
		case key == "alone":
			out[len(out)-1].alone = true
		case key == "asked":
			out[len(out)-1].asked = regexp.MustCompile("(?i)" + rest)
		case isSource:
			if words, ok := strings.CutPrefix(find, "heading "); ok {
				find = `^(#{1,6}\s|=+\s|\*+\s?|<h\d).*\b(` + words + `)|^(` + words + `)[\w &-]{0,30}:?$`
			}
			last := out[len(out)-1]
			source := topicSource{regexp.MustCompile("(?i)" + cmp.Or(files[where], where)), regexp.MustCompile("(?i)" + find)}
			last.sources = append(last.sources, source)
		}
	}
	return out
}

// topicOf returns what a prompt asks of the repository; nil: nothing known.
func topicOf(prompt string) *topic {
	if i := slices.IndexFunc(topics, func(t *topic) bool { return t.asked.MatchString(prompt) }); i >= 0 {
		return topics[i]
	}
	return nil
}

// names returns the files that a source of the topic may be in, those nearest
// to the top first.
func (t *topic) names(s topicSource, ev *evidence) (out []string) {
	for _, n := range ev.names {
		kind, _ := kindOf(n)
		wrong := kind == "sample" || (kind == "test") != (t.name == "test files") || kind == "document" && t.name == "command line" ||
			kind == "foreign" && strings.Contains(n, "/")
		if !wrong && s.files.MatchString(n) {
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(len(a), len(b)))
	})
	return out[:min(len(out), 3)]
}

// rankTopic adds the places that the topic of the prompt finds.
func (r *ranker) rankTopic() {
	t, besides := r.q.topic, r.besides()
	if t == nil || t.alone && len(besides) > 0 {
		return
	}
	for i, s := range t.sources {
		for j, name := range t.names(s, r.ev) {
			if f := r.ev.files[name]; f != nil {
				r.topicPlace(s, name, f, besides, float64(4*i+j))
			}
		}
	}
	for name, f := range r.ev.files {
		for n, l := range f.lines {
			if kind, _ := kindOf(name); t.name == "entry point" && kind == "source" && matches("main", l) {
				r.places = append(r.places, place{path: name, line: n, text: l, kind: kind, score: r.mainScore(name), known: true})
			}
		}
	}
}

// mainScore scores a file in which a program begins.
func (r *ranker) mainScore(name string) float64 {
	base, _, _ := strings.Cut(name[strings.LastIndex(name, "/")+1:], ".")
	score := knownScore + 2.5 - float64(strings.Count(name, "/"))
	if base == "main" || base == "server" || r.own[base] || r.own[stem(base)] {
		score += 4
	}
	return score
}

// topicPlace adds the best of the lines of a file that a source of a topic
// speaks of. Where the prompt names more, the section has to hold it.
func (r *ranker) topicPlace(s topicSource, name string, f *fileEvidence, besides []term, less float64) {
	kind, _ := kindOf(name)
	best := place{path: name, kind: kind, known: true, score: less}
	for n := range f.inOrder() {
		if !f.read[n] || !s.find.MatchString(f.lines[n]) {
			continue
		}
		score, line := float64(knownScore), n
		if r.q.topic.name != "overview" { // there the first line is the best
			score += share(f.lines[n], r.q.terms)
		}
		most := 0.0
		for m := n; m <= f.sectionEnd(name, n) && len(besides) > 0; m++ {
			if got := share(f.lines[m], besides); got > most {
				most, line = got, m
			}
		}
		if len(besides) > 0 {
			score *= most / float64(len(besides))
		}
		if score > best.score {
			best.line, best.text, best.score = line, f.lines[line], score
		}
	}
	if best.line > 0 {
		best.score -= less
		r.places = append(r.places, best)
	}
}

// share returns how many of the terms stand on a line.
func share(line string, terms []term) (sum float64) {
	in := newText(line)
	for _, t := range terms {
		if m := t.match(in); m >= matchLeast {
			sum += m
		}
	}
	return sum
}

// besides returns the terms that neither the topic nor the paths account for.
func (r *ranker) besides() []term {
	return slices.DeleteFunc(r.q.strong(), func(t term) bool {
		inPath := slices.ContainsFunc(r.q.paths, func(p pathRef) bool {
			return strings.Contains(flat(p.path), flat(t.text)) && (p.sure || r.ev.resolve(p.path) != "")
		})
		topic := r.q.topic
		return inPath || topic != nil && (topic.asked.MatchString(t.text) || r.own[t.stem] || r.own[t.ident] || topicStems[t.stem])
	})
}

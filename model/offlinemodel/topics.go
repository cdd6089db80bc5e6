package offlinemodel

import (
	"cmp"
	_ "embed" // the table
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

//go:embed tables/topics.txt
var topicTable string

// topics in the order in which they are tried.
var topics = readTopics(topicTable)

func readTopics(table string) (out []*topic) {
	files := map[string]string{}
	for l := range strings.Lines(table) {
		l = strings.TrimRight(l, "\n")
		key, rest, _ := strings.Cut(l, " ")
		switch {
		case key == "#":
		case key == "files":
			name, pattern, _ := strings.Cut(rest, " ")
			files["{"+name+"}"] = pattern
		case key == "topic":
			out = append(out, &topic{name: rest})
		case key == "alone":
			out[len(out)-1].alone = true
		case key == "asked":
			out[len(out)-1].asked = regexp.MustCompile("(?i)" + rest)
		case strings.Contains(l, " => "):
			where, find, _ := strings.Cut(l, " => ")
			if words, ok := strings.CutPrefix(find, "heading "); ok {
				find = `^(#{1,6}\s|=+\s|\*+\s?|<h\d).*\b(` + words + `)|^(` + words + `)[\w &-]{0,30}:?$`
			}
			last := out[len(out)-1]
			last.sources = append(last.sources, topicSource{regexp.MustCompile("(?i)" + cmp.Or(files[where], where)), regexp.MustCompile("(?i)" + find)})
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
		if s.files.MatchString(n) && kind != "sample" && (kind == "test") == (t.name == "test files") && (kind != "document" || t.name != "command line") &&
			(kind != "foreign" || !strings.Contains(n, "/")) {
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
			if kind, _ := kindOf(name); t.name != "entry point" || kind != "source" || !mainFunction.MatchString(l) {
				continue
			}
			base, _, _ := strings.Cut(name[strings.LastIndex(name, "/")+1:], ".")
			score := topicScore + 2.5 - float64(strings.Count(name, "/"))
			if base == "main" || base == "server" || r.own[base] || r.own[stem(base)] {
				score += 4
			}
			r.places = append(r.places, place{path: name, line: n, text: l, kind: "source", score: score, topic: true, def: definition{"main", 1, true}})
		}
	}
}

const mainPattern = `^(?:pub |public static |static )?(?:async )?(?:(?:func|fn|def|int|void|fun) )?main\s*\(`

var mainFunction = regexp.MustCompile(mainPattern)

// topicPlace adds the best of the lines of a file that a source of a topic
// speaks of. Where the prompt names more, the section has to hold it.
func (r *ranker) topicPlace(s topicSource, name string, f *fileEvidence, besides []term, less float64) {
	best := place{}
	for n := range f.inOrder() {
		if !s.find.MatchString(f.lines[n]) || !f.read[n] {
			continue
		}
		score, line := float64(topicScore), n
		if r.q.topic.name != "overview" { // there the first line is the best
			score += r.share(f.lines[n], r.q.terms)
		}
		if len(besides) > 0 {
			most := 0.0
			for m := n; m <= f.sectionEnd(name, n); m++ {
				if got := r.share(f.lines[m], besides); got > most {
					most, line = got, m
				}
			}
			score *= most / float64(len(besides))
		}
		if score > best.score {
			kind, _ := kindOf(name)
			best = place{path: name, line: line, text: f.lines[line], kind: kind, score: score, topic: true}
		}
	}
	if best.score > less {
		best.score -= less
		r.places = append(r.places, best)
	}
}

// share returns how many of the terms stand on a line.
func (r *ranker) share(line string, terms []term) (sum float64) {
	in := newText(line)
	for _, t := range terms {
		if m := t.match(&in); m >= matchLeast {
			sum += m
		}
	}
	return sum
}

// besides returns the terms that the topic does not account for.
func (r *ranker) besides() []term {
	return slices.DeleteFunc(r.q.strong(), func(t term) bool {
		return r.q.topic == nil || r.q.topic.asked.MatchString(t.text) || r.own[t.stem] || r.own[t.ident] || topicStems[t.stem]
	})
}

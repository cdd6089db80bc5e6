package offlinemodel

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
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
// the files whose names match; nil means in any source, which a search has to find.
type topicSource struct{ files, find *regexp.Regexp }

// topics in the order in which they are tried.
var topics = sync.OnceValue(readTopics)

func readTopics() (out []topic) {
	files, last := map[string]string{}, &topic{}
	for key, rest := range rows("topics") {
		switch where, find, isSource := strings.Cut(key+" "+rest, " => "); {
		case key == "files":
			name, pattern, _ := strings.Cut(rest, " ")
			files["{"+name+"}"] = pattern
		case key == "topic":
			out = append(out, topic{name: rest})
			last = &out[len(out)-1]
		case key == "alone":
			last.alone = true
		case key == "asked":
			last.asked = regexp.MustCompile("(?i)" + rest)
		case isSource && where == "grep":
			last.sources = append(last.sources, topicSource{nil, regexp.MustCompile(find)})
		case isSource:
			if words, ok := strings.CutPrefix(find, "heading "); ok {
				find = `^(#{1,6}\s|=+\s|\*+\b|<h\d).*\b(` + words + `)|^(` + words + `)[\w &-]{0,30}:?$`
			}
			source := topicSource{regexp.MustCompile("(?i)" + cmp.Or(files[where], where)), regexp.MustCompile("(?i)" + find)}
			last.sources = append(last.sources, source)
		}
	}
	return out
}

// topicOf returns what a prompt asks of the repository as such, if anything.
func topicOf(prompt string) topic {
	if i := slices.IndexFunc(topics(), func(t topic) bool { return t.asked.MatchString(prompt) }); i >= 0 {
		return topics()[i]
	}
	return topic{}
}

// setTopic finds what the prompt asks for beside its topic and its paths.
func (r *researcher) setTopic() {
	t := r.q.topic
	r.beside = slices.DeleteFunc(r.q.strong(), func(x term) bool {
		inPath := slices.ContainsFunc(r.q.paths, func(p pathRef) bool {
			return strings.Contains(flat(p.path), flat(x.text)) && (p.sure || r.ev.resolve(p.path) != "")
		})
		return inPath || t.name != "" && (t.asked.MatchString(x.text) || x.name == r.own || topicStems()[x.name])
	})
	if !t.alone || len(r.beside) == 0 {
		r.topic = t
	}
}

var workFolder = regexp.MustCompile(`You work in the folder (\S+?)\.?(\s|$)`)

// ownName returns the stem of the repository's own name, by its folder.
func ownName(system string) string {
	if m := workFolder.FindStringSubmatch(system); m != nil {
		return stem(flat(path.Base(strings.ReplaceAll(m[1], `\`, "/"))))
	}
	return ""
}

// candidates returns the files that a source of the topic may be in, those that
// are named for the program and those nearest to the top first.
func (r *researcher) candidates(s topicSource) []string {
	names := slices.DeleteFunc(slices.Clone(r.ev.names), func(n string) bool {
		kind, _ := kindOf(n)
		wrong := kind == "sample" || kind == "foreign" && strings.Contains(n, "/") || (kind == "test") != (r.topic.name == "test files")
		if s.files == nil {
			return wrong || kind != "source" || len(r.ev.file(n).matching(s.find)) == 0
		}
		return wrong || !s.files.MatchString(n)
	})
	depth := func(n string) int {
		d := strings.Count(n, "/")
		if base, _, _ := strings.Cut(path.Base(n), "."); base == "main" || base == "server" || stem(base) == r.own {
			d -= 4
		}
		return d
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(depth(a), depth(b)), cmp.Compare(len(a), len(b)))
	})
	return names[:min(len(names), 3)]
}

// rankTopic adds the places that the topic of the prompt finds: of each file
// the best of the lines that a source speaks of.
func (r *researcher) rankTopic() {
	for i, s := range r.topic.sources {
		for j, name := range r.candidates(s) {
			best := place{}
			for _, n := range r.ev.file(name).matching(s.find) {
				if p := r.section(name, n); p.score > best.score {
					best = p
				}
			}
			if best.score -= float64(4*i + j); best.score > 0 {
				r.places = append(r.places, best)
			}
		}
	}
}

// section scores a section of a file by its first line, or returns of what the
// prompt asks for beside its topic the best line there.
func (r *researcher) section(name string, line int) place {
	f := r.ev.file(name)
	kind, _ := kindOf(name)
	p := place{name, line, f.lines[line], kind, knownScore}
	if r.topic.name != "overview" { // there the first line is the best
		p.score += match(r.q.terms, p.text).sum()
	}
	if len(r.beside) == 0 {
		return p
	}
	most := 0.0
	for n := line; n < line+sectionLines; n++ {
		if got := match(r.beside, f.lines[n]).sum(); got > most {
			most, p.line, p.text = got, n, f.lines[n]
		}
	}
	p.score *= most / float64(len(r.beside))
	return p
}

package offlinemodel

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentworker/worker/model"
)

// Bounds of a search. A step is one turn with tool calls.
const (
	maxSteps     = 5
	maxScopes    = 6 // folders that a search which was cut is made again in
	maxLooked    = 6 // files that are searched one by one
	maxReads     = 3 // places that are read around
	readAbove    = 30
	readLines    = 90
	maxFileLines = 100 // of a grep in one file
)

// researcher is a search, at the point that the conversation has come to.
type researcher struct {
	*ranker
	tools toolbox
	step  int // turns with calls so far
}

// research goes one step on with the search for an answer to the prompt.
func research(req *model.Request, tools toolbox, talk *conversation) turn {
	q, ev := parseQuery(talk.prompt, talk.earlier), gather(talk.done)
	r := &researcher{ranker: newRanker(&q, ev, req.System), tools: tools}
	for _, step := range talk.done {
		if slices.ContainsFunc(step, func(e exchange) bool { return e.call.tool != taskTool }) {
			r.step++
		}
	}
	stages := []struct {
		why   string
		calls func() []call
	}{
		{"Looking at what files there are.", r.listCalls},
		{"Looking for " + r.subject() + ".", r.searchCalls},
		{"Looking in the likely folders and files.", r.narrowCalls},
		{"Reading the best places.", r.readCalls},
	}
	for i := 0; i < len(stages) && talk.prompt != "" && r.step < maxSteps; i++ {
		t := turn{reasoning: stages[i].why}
		for _, c := range stages[i].calls() {
			if r.tools.has(c.tool) && !ev.made[c] && !slices.Contains(t.calls, c) && (c.tool == "read_file" || c.tool == "list_dir" || c.args.Pattern != "") {
				t.calls = append(t.calls, c)
			}
		}
		if len(t.calls) > 0 {
			return t
		}
	}
	text := (&answer{researcher: r, prompt: talk.prompt, concluding: req.NoToolCalls}).markdown()
	for _, o := range slices.Backward(outcomesOf(talk)) {
		if o.failed {
			text = o.report() + "\n\n" + text
		}
	}
	return turn{text: text}
}

// subject names what is looked for.
func (r *researcher) subject() string {
	var names []string
	for _, t := range r.q.searched() {
		names = append(names, t.text)
	}
	return cmp.Or(strings.Join(names, ", "), "an overview")
}

// listCalls find out which files there are.
func (r *researcher) listCalls() []call {
	calls := []call{{tool: "list_dir"}, {"glob", arguments{Pattern: "**"}}}
	for _, p := range r.q.paths {
		if p.sure {
			calls = append(calls, r.read(p.path, p.line))
		}
		calls = append(calls, call{"glob", arguments{Pattern: "**/" + globSpecial.ReplaceAllString(path.Base(p.path), `[$0]`)}})
	}
	return calls
}

var globSpecial = regexp.MustCompile(`[*?{\[]`)

// large reports whether the repository has more files than one result names.
// Then searches of all of it have to be few.
func (r *researcher) large() bool { return r.ev.cut["**"] }

// searchCalls read what the topic is about, and search for the terms.
func (r *researcher) searchCalls() (calls []call) {
	for _, p := range r.q.paths {
		if n := r.ev.resolve(p.path); n != "" {
			calls = append(calls, r.read(n, 0))
		} else if p.sure {
			calls = append(calls, call{"list_dir", arguments{Path: p.path}})
		}
		for _, base := range []string{"README.md", "README.rst", "README", "doc.go", "__init__.py", "mod.rs", "lib.rs", "index.ts", "index.js"} {
			if n := path.Join(p.path, base); p.sure && r.ev.has(n) {
				calls = append(calls, r.read(n, 0))
				break
			}
		}
	}
	if t := r.q.topic; t != nil && (!t.alone || len(r.besides()) == 0) {
		for _, s := range t.sources {
			for _, n := range t.names(s, r.ev) {
				calls = append(calls, r.read(n, 0))
			}
		}
		if t.name == "entry point" {
			calls = append(calls, call{"grep", arguments{Pattern: mainPattern}})
		}
		if len(r.besides()) == 0 {
			return calls
		}
	}
	if len(calls) > 0 && r.aboutPaths() {
		return calls
	}
	terms := r.q.searched()
	if r.large() {
		calls = append(calls, call{"glob", arguments{Pattern: namePattern(terms)}})
	}
	pairs := 0
	for _, t := range terms {
		p := r.pattern(t)
		if t.pair != "" {
			pairs++
		}
		if !r.large() || len(t.text) > 4 && (t.pair == "" || pairs == 1) {
			calls = append(calls, call{"grep", arguments{Pattern: p}})
		}
		if r.large() {
			continue // definitions are looked for in the likely folders
		}
		if t.phrase == "" && t.pair == "" && !t.weak {
			calls = append(calls, call{"grep", arguments{Pattern: definitionStart + p}})
		}
		if t.stem != "" && !t.weak && r.q.value {
			for _, word := range []string{p, strings.ToUpper(literal(t.stem))} {
				calls = append(calls, call{"grep", arguments{Pattern: word + `[^0-9;&|]{0,40}\b[0-9]`}})
			}
		}
	}
	return calls
}

// narrowCalls search again where a search was cut: folder by folder, and in
// the files that look best by now.
func (r *researcher) narrowCalls() (calls []call) {
	if r.topicAnswers() || r.aboutPaths() || r.step > 3 {
		return nil
	}
	var again, all []string
	for _, t := range r.q.searched() {
		switch p := r.pattern(t); {
		case r.large() && t.phrase == "" && t.pair == "" && !t.weak:
			again = append(again, definitionStart+p)
		case !r.large() && r.ev.cut[p]:
			again = append(again, p)
		}
	}
	if !r.large() && len(again) > 0 {
		again = []string{strings.Join(again, "|")}
	}
	for _, folder := range r.scopes() {
		for _, p := range again {
			if r.step <= 2 {
				calls = append(calls, call{"grep", arguments{Pattern: p, Path: folder}})
			}
		}
	}
	for _, t := range r.q.terms[:min(len(r.q.terms), 10)] {
		if t.pair == "" { // its words are searched for
			all = append(all, r.pattern(t))
		}
	}
	for _, n := range r.bestFiles(maxLooked) {
		if f := r.ev.files[n]; len(all) > 0 && (f == nil || !f.whole && !f.searched) {
			p := strings.Join(all, "|")
			if extension(n) == "rs" {
				p += `|cfg\(test\)`
			}
			calls = append(calls, call{"grep", arguments{Pattern: p, Path: n, Limit: maxFileLines}})
		}
	}
	return calls
}

// readCalls read around the best places, no two of which are close together.
func (r *researcher) readCalls() (calls []call) {
	if r.topicAnswers() || r.aboutPaths() {
		return nil
	}
	var seen []place
	for _, p := range r.places {
		near := func(o place) bool {
			return o.path == p.path && (p.kind == "document" || p.line > o.line-readAbove && p.line < o.line+readLines-readAbove)
		}
		if f := r.ev.files[p.path]; len(seen) == maxReads {
			break
		} else if p.kind == "private" || slices.ContainsFunc(seen, near) || f != nil && (f.whole || f.read[p.line]) {
			seen = append(seen, p)
			continue
		}
		seen = append(seen, p)
		if p.kind == "document" {
			p.line = 0
		}
		calls = append(calls, r.read(p.path, p.line))
	}
	return calls
}

// read returns a call that reads around a line; 0: from the start, all that
// one result holds.
func (r *researcher) read(path string, line int) call {
	c := call{"read_file", arguments{Path: path}}
	if line > readAbove+1 && r.tools.takes("read_file", "offset") {
		c.args.Offset = line - readAbove
	}
	if line > 0 && r.tools.takes("read_file", "limit") {
		c.args.Limit = readLines
	}
	return c
}

// definitionStart begins the pattern of lines that seem to define something.
const definitionStart = `\b(?:func|function|type|class|def|defn?|fn|fun|struct|interface|enum|trait|impl|const|module|object|record|sub|define|var|val)\b[^=;]*`

// pattern returns the regular expression that finds the lines which a term may
// stand on. It may find more. What makes a search fast is a text that stands in
// every match as it is written: so only the first letter of a word is free.
func (r *researcher) pattern(t term) string {
	switch {
	case t.phrase != "":
		return strings.ReplaceAll(regexp.QuoteMeta(strings.Join(strings.Fields(t.text), " ")), " ", `\s+`)
	case t.pair != "":
		words := strings.Fields(t.text)
		return capitals(literal(stem(words[0]))) + `[a-z]*[ _-]?` + capitals(literal(stem(words[1])))
	case t.ident != "":
		name := t.text[strings.LastIndexAny(t.text, ".:>#/")+1:]
		words := subwords(name)
		if r.large() || len(words) < 2 {
			return `\b` + regexp.QuoteMeta(strings.TrimLeft(name, "$@"))
		}
		for i, w := range words {
			words[i] = capitals(w)
		}
		return strings.Join(words, "[_-]?")
	}
	word := literal(t.stem)
	for _, s := range shortForms[t.stem] {
		if !r.large() && len(s) > 2 && len(s) < len(word) && strings.HasPrefix(word, s) {
			word = s // env stands in environment too
		}
	}
	if len(word) < 4 {
		return `(?:\b|_|[a-z])` + capitals(word)
	}
	return capitals(word)
}

// capitals matches a word that may begin with a capital letter.
func capitals(word string) string {
	first, size := utf8.DecodeRuneInString(word)
	if up := unicode.ToUpper(first); up != first && len(word) > size {
		return "[" + word[:size] + string(up) + "]" + regexp.QuoteMeta(word[size:])
	}
	return regexp.QuoteMeta(word)
}

// namePattern finds files in whose names, or whose folder's, a term stands.
func namePattern(terms []term) string {
	var alts []string
	for _, t := range terms {
		for _, w := range subwords(t.text) {
			if word := literal(stem(w)); len(word) > 2 && isASCII(word) && len(alts) < 12 && !slices.Contains(alts, "**/*"+capitals(word)+"*") {
				alts = append(alts, "**/*"+capitals(word)+"*", "**/"+capitals(word)+"*/*")
			}
		}
	}
	if len(alts) == 0 {
		return ""
	}
	return "{" + strings.Join(alts, ",") + "}"
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// scopes returns folders over which to spread a search: those with the most
// of the program; in a large repository, those with the names that match best.
func (r *researcher) scopes() []string {
	names, depth := r.ev.names, 1
	if r.large() {
		names, depth = r.bestFiles(4*maxScopes), 3
	}
	for ; depth < 6; depth++ {
		count := map[string]int{}
		for _, n := range names {
			if kind, _ := kindOf(n); kind == "source" && strings.Contains(n, "/") {
				parts := strings.Split(path.Dir(n), "/")
				count[strings.Join(parts[:min(depth, len(parts))], "/")]++
			}
		}
		if len(count) > 2 || len(count) > 0 && depth == 5 {
			out := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) })
			if r.large() {
				out = out[:min(len(out), maxScopes/2)]
			}
			return out[:min(len(out), maxScopes)]
		}
	}
	return nil
}

// aboutPaths reports whether the prompt asks for files or folders as such: it
// names some, and nothing to look for in them.
func (r *researcher) aboutPaths() bool {
	some := slices.ContainsFunc(r.q.paths, func(p pathRef) bool { return p.sure || r.ev.resolve(p.path) != "" })
	return some && !r.q.usage && !slices.ContainsFunc(r.q.strong(), func(t term) bool {
		return !slices.ContainsFunc(r.q.paths, func(p pathRef) bool { return strings.Contains(flat(p.path), flat(t.text)) })
	})
}

// topicAnswers reports whether the best place is one that the topic has found.
func (r *researcher) topicAnswers() bool { return len(r.places) > 0 && r.places[0].topic && r.step > 0 }

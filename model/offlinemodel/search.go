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
	maxReads     = 3 // places that are read around, in a step
	readAbove    = 30
	readLines    = 90
	maxFileLines = 100 // of a grep in one file
)

// researcher is a search, at the point that the conversation has come to.
type researcher struct {
	q     query
	ev    *evidence
	tools toolbox
	step  int // turns with calls so far
	*ranker
}

func newResearcher(req *model.Request, tools toolbox, talk *conversation) *researcher {
	r := &researcher{q: parseQuery(talk.prompt, talk.earlier), tools: tools}
	for _, step := range talk.done {
		if slices.ContainsFunc(step, func(e exchange) bool { return e.call.tool != taskTool }) {
			r.step++
		}
	}
	r.ev = gather(talk.done)
	r.ranker = newRanker(&r.q, r.ev, repositoryName(req.System, r.ev))
	return r
}

// research goes one step on with the search for an answer to the prompt.
func research(req *model.Request, tools toolbox, talk *conversation) turn {
	r := newResearcher(req, tools, talk)
	if talk.prompt != "" {
		for stage := 0; stage <= 3 && r.step < maxSteps; stage++ {
			if calls, why := r.plan(stage); len(calls) > 0 {
				return turn{reasoning: why, calls: calls}
			}
		}
	}
	a := answer{researcher: r, prompt: talk.prompt, concluding: req.NoToolCalls}
	text := a.markdown()
	if failed := taskFailures(talk); failed != "" {
		text = failed + "\n\n" + text
	}
	return turn{text: text + "\n\n" + Note}
}

// plan returns the calls of a stage that have not been made yet.
func (r *researcher) plan(stage int) (calls []call, why string) {
	switch stage {
	case 0: // which files there are
		calls, why = r.listCalls(), "Looking at what files there are."
	case 1: // where the terms stand
		calls, why = r.searchCalls(), "Looking for "+r.subject()+"."
	case 2: // what the first searches have cut
		calls, why = r.narrowCalls(), "Looking in the likely files."
	case 3:
		calls, why = r.readCalls(), "Reading the best places."
	}
	var out []call
	for _, c := range calls {
		if r.tools.has(c.tool) && !r.ev.made[callKey(c)] && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out, why
}

// subject names what is looked for.
func (r *researcher) subject() string {
	var names []string
	for _, t := range r.q.searched() {
		names = append(names, t.text)
	}
	if len(names) == 0 {
		return "an overview"
	}
	return strings.Join(names, ", ")
}

func (r *researcher) listCalls() []call {
	calls := []call{{tool: "list_dir"}, {"glob", arguments{Pattern: "**"}}}
	for _, p := range r.q.paths {
		if p.sure {
			calls = append(calls, r.read(p.path, p.line))
		}
		calls = append(calls, call{"glob", arguments{Pattern: "**/" + globQuote(path.Base(p.path))}})
	}
	return calls
}

// large reports whether the repository has more files than one result names.
// Then a search has to be one that is fast: with a text that every match has.
func (r *researcher) large() bool { return r.ev.cut["**"] }

// searchCalls searches for the terms in names and contents, and reads what the
// topic is about.
func (r *researcher) searchCalls() []call {
	var calls []call
	for _, n := range r.named() {
		calls = append(calls, r.read(n, 0))
	}
	for _, p := range r.q.paths {
		if p.sure && !r.ev.has(p.path) {
			calls = append(calls, call{"list_dir", arguments{Path: p.path}})
		}
		for _, base := range []string{"README.md", "README.rst", "README", "doc.go", "__init__.py", "mod.rs", "lib.rs", "index.ts", "index.js"} {
			if n := path.Join(p.path, base); p.sure && r.ev.has(n) {
				calls = append(calls, r.read(n, 0))
				break
			}
		}
	}
	if t := r.topic(); t != nil {
		for _, s := range t.sources {
			for _, n := range t.names(s, r.ev) {
				calls = append(calls, r.read(n, 0))
			}
		}
		if t.name == "entry point" {
			calls = append(calls, call{"grep", arguments{Pattern: `^(?:pub |public static |static )?(?:async )?(?:func|fn|def|int|void|fun) main\s*\(`}})
		}
		if t.alone || len(r.besides()) == 0 {
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
	for _, t := range terms {
		if !r.large() || len(t.text) > 4 {
			calls = append(calls, r.grep(t, "", ""))
		}
		if r.large() {
			continue // definitions are looked for in the likely folders
		}
		if t.phrase == "" && t.pair == "" && !t.weak {
			calls = append(calls, r.grep(t, definitionStart, ""))
		}
		if t.stem != "" && r.q.value && !t.weak {
			for _, word := range []string{capitals(literal(t.stem)), strings.ToUpper(literal(t.stem))} {
				calls = append(calls, call{"grep", arguments{Pattern: word + `[^0-9;&|]{0,40}\b[0-9]`}})
			}
		}
	}
	return slices.DeleteFunc(calls, func(c call) bool { return c.tool != "read_file" && c.tool != "list_dir" && c.args.Pattern == "" })
}

// narrowCalls searches again where a search was cut: folder by folder, and in
// the files that look best by now.
func (r *researcher) narrowCalls() []call {
	if r.topicAnswers() || r.aboutPaths() {
		return nil
	}
	var calls []call
	if r.step <= 2 {
		var cut []string
		for _, t := range r.q.searched() {
			switch p := r.pattern(t); {
			case r.large() && t.phrase == "" && t.pair == "" && !t.weak:
				cut = append(cut, definitionStart+p)
			case r.ev.cut[p]:
				cut = append(cut, p)
			}
		}
		for _, folder := range r.scopes() {
			if r.large() {
				for _, p := range cut {
					calls = append(calls, call{"grep", arguments{Pattern: p, Path: folder}})
				}
			} else if len(cut) > 0 {
				calls = append(calls, call{"grep", arguments{Pattern: strings.Join(cut, "|"), Path: folder}})
			}
		}
	}
	for _, n := range r.bestFiles(maxLooked) {
		if f := r.ev.files[n]; r.step <= 3 && (f == nil || !f.whole && !f.searched) {
			if p := r.allTerms(); p != "" {
				if extension(n) == "rs" {
					p += `|cfg\(test\)`
				}
				calls = append(calls, call{"grep", arguments{Pattern: p, Path: n, Limit: maxFileLines}})
			}
		}
	}
	return calls
}

// readCalls reads around the best places.
func (r *researcher) readCalls() []call {
	if r.topicAnswers() || r.aboutPaths() {
		return nil
	}
	var calls []call
	var read []place
	for _, p := range r.places {
		if p.kind == private || slices.ContainsFunc(read, func(o place) bool {
			return o.path == p.path && (p.kind == document || p.line > o.line-readAbove && p.line < o.line+readLines-readAbove)
		}) {
			continue
		}
		if read = append(read, p); len(read) > maxReads {
			break
		}
		switch {
		case r.ev.files[p.path].wasRead(p.line):
		case p.kind == document:
			calls = append(calls, r.read(p.path, 0))
		default:
			calls = append(calls, r.read(p.path, p.line))
		}
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

// grep returns a call that searches for a term, below a folder.
func (r *researcher) grep(t term, before, folder string) call {
	return call{"grep", arguments{Pattern: before + r.pattern(t), Path: folder}}
}

// pattern returns the regular expression that finds the lines which a term may
// stand on. It may find more.
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

// capitals matches a word that may begin with a capital letter. What follows
// is the text that makes a search fast.
func capitals(word string) string {
	first, size := utf8.DecodeRuneInString(word)
	if up := unicode.ToUpper(first); up != first && len(word) > size {
		return "[" + word[:size] + string(up) + "]" + regexp.QuoteMeta(word[size:])
	}
	return regexp.QuoteMeta(word)
}

// allTerms returns a pattern that finds any of the terms, weak ones too.
func (r *researcher) allTerms() string {
	var alts []string
	for _, t := range r.q.terms[:min(len(r.q.terms), 10)] {
		if t.pair != "" {
			continue // its words are searched for
		}
		alts = append(alts, r.pattern(t))
	}
	return strings.Join(alts, "|")
}

// namePattern finds files in whose names, or whose folder's, one of the terms
// stands.
func namePattern(terms []term) string {
	var alts []string
	for _, t := range terms {
		for _, w := range subwords(t.text) {
			word := []rune(literal(stem(w)))
			if len(word) < 3 || len(alts) == 6 || strings.ContainsAny(string(word), `\?[]{}`) {
				continue
			}
			alt := string(word[1:])
			if up := unicode.ToUpper(word[0]); up != word[0] {
				alt = "[" + string(word[0]) + string(up) + "]" + alt
			} else {
				alt = string(word[0]) + alt
			}
			if alts = append(alts, "**/*"+alt+"*"); len(alts) <= 6 {
				alts = append(alts, "**/"+alt+"*/*")
			}
		}
	}
	if len(alts) < 2 {
		return strings.Join(alts, "")
	}
	return "{" + strings.Join(alts, ",") + "}"
}

// globQuote returns a glob that matches s alone.
func globQuote(s string) string { return globSpecial.ReplaceAllString(s, `[$0]`) }

var globSpecial = regexp.MustCompile(`[*?{\[]`)

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
			if parts := strings.Split(path.Dir(n), "/"); kindOf(n) == source && parts[0] != "." {
				count[strings.Join(parts[:min(depth, len(parts))], "/")]++
			}
		}
		if len(count) == 0 || len(count) < 3 && depth < 5 {
			continue
		}
		out := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
			return cmp.Or(cmp.Compare(count[b], count[a]), strings.Compare(a, b))
		})
		return out[:min(len(out), maxScopes)]
	}
	return nil
}

// named returns the files that the prompt names and the repository has.
func (r *researcher) named() []string {
	var out []string
	for _, p := range r.q.paths {
		if n := r.ev.resolve(p.path); n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// aboutPaths reports whether the prompt asks for files or folders as such: it
// names some, and nothing to look for in them.
func (r *researcher) aboutPaths() bool {
	if len(r.q.paths) == 0 || r.q.usage || !slices.ContainsFunc(r.q.paths, func(p pathRef) bool { return p.sure || r.ev.resolve(p.path) != "" }) {
		return false
	}
	return !slices.ContainsFunc(r.q.strong(), func(t term) bool {
		return !slices.ContainsFunc(r.q.paths, func(p pathRef) bool { return strings.Contains(flat(p.path), flat(t.text)) })
	})
}

// topic returns the topic of the prompt, if it is about no more than that.
func (r *researcher) topic() *topic {
	t := r.q.topic
	if t == nil || t.alone && len(r.besides()) > 0 {
		return nil
	}
	return t
}

// besides returns the terms that the topic does not account for.
func (r *researcher) besides() []term {
	return slices.DeleteFunc(r.q.strong(), func(t term) bool {
		return r.q.topic.asked.MatchString(t.text) || r.own[t.stem] || r.own[t.ident] || topicStems[t.stem]
	})
}

// topicStems say no more than their topic.
var topicStems = func() map[string]bool {
	set := map[string]bool{}
	for w := range wordSet(topicList) {
		set[stem(w)] = true
	}
	return set
}()

// topicAnswers reports whether the best place is one that the topic has found.
func (r *researcher) topicAnswers() bool { return len(r.places) > 0 && r.places[0].topic && r.step > 0 }

package offlinemodel

import (
	"cmp"
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
	maxLooked    = 8 // files that are searched one by one
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
	r := &researcher{newRanker(&q, ev, req.System), tools, len(talk.done)}
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
			idle := (c.tool == "grep" || c.tool == "glob") && c.args.Pattern == ""
			if r.tools.has(c.tool) && !ev.made[c] && !slices.Contains(t.calls, c) && !idle {
				t.calls = append(t.calls, c)
			}
		}
		if len(t.calls) > 0 {
			return t
		}
	}
	return turn{text: strings.TrimSpace(reports(talk.tasks) + "\n\n" + r.answer(talk.prompt))}
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
	calls := []call{{tool: "list_dir"}, grepOrGlob("glob", "**", "")}
	for _, p := range r.q.paths {
		if p.sure {
			calls = append(calls, r.read(p.path, p.line))
		}
		calls = append(calls, grepOrGlob("glob", "**/"+globSpecial.ReplaceAllString(path.Base(p.path), `[$0]`), ""))
	}
	return calls
}

var globSpecial = regexp.MustCompile(`[*?{\[]`)

func grepOrGlob(tool, pattern, path string) call {
	return call{tool, arguments{Pattern: pattern, Path: path}}
}

// large reports whether the repository has more files than one result names.
// Then searches of all of it have to be few.
func (r *researcher) large() bool { return r.ev.cut["**"] }

// searchCalls read what the prompt names and what its topic is about, and
// search for the terms.
func (r *researcher) searchCalls() (calls []call) {
	for _, p := range r.q.paths {
		if n := r.ev.resolve(p.path); n != "" {
			calls = append(calls, r.read(n, 0))
		} else if p.sure {
			calls = append(calls, call{"list_dir", arguments{Path: p.path}})
		}
	}
	besides := r.besides()
	if t := r.q.topic; t != nil && (!t.alone || len(besides) == 0) {
		if t.name == "entry point" {
			calls = append(calls, grepOrGlob("grep", patterns["main"].String(), ""))
		}
		for _, s := range t.sources {
			for _, n := range t.names(s, r.ev) {
				calls = append(calls, r.read(n, 0))
			}
		}
	}
	if len(besides) == 0 && len(calls) > 0 {
		return calls
	}
	return append(calls, r.termCalls()...)
}

// termCalls search for the terms.
func (r *researcher) termCalls() (calls []call) {
	terms := r.q.searched()
	if r.large() {
		calls = append(calls, grepOrGlob("glob", namePattern(terms), ""))
	}
	for _, t := range terms {
		p := r.pattern(t)
		if calls = append(calls, grepOrGlob("grep", p, "")); t.weak || r.large() {
			continue
		}
		calls = append(calls, grepOrGlob("grep", definitionStart+p, ""))
		if t.stem != "" && r.q.asks("value") {
			calls = append(calls, grepOrGlob("grep", `(?i:`+literal(t.stem)+`)[^0-9;&|]{0,40}\b[0-9]`, ""))
		}
	}
	return calls
}

// narrowCalls search for all terms in the files that look best by now.
func (r *researcher) narrowCalls() (calls []call) {
	if r.knows() || r.step > 3 {
		return nil
	}
	var all []string
	for _, t := range r.q.terms[:min(len(r.q.terms), 10)] {
		all = append(all, r.pattern(t))
	}
	for _, n := range r.bestFiles(maxLooked) {
		if f := r.ev.files[n]; f == nil || !f.whole && !f.searched {
			calls = append(calls, call{"grep", arguments{Pattern: strings.Join(all, "|"), Path: n, Limit: maxFileLines}})
		}
	}
	return calls
}

// readCalls read around the best places, no two of which are close together.
func (r *researcher) readCalls() (calls []call) {
	if r.knows() {
		return nil
	}
	var seen []place
	for _, p := range r.places {
		near := func(o place) bool {
			return o.path == p.path && (p.kind == "document" || p.line > o.line-readAbove && p.line < o.line+readLines-readAbove)
		}
		if len(seen) == maxReads {
			break
		}
		seen = append(seen, p)
		f := r.ev.files[p.path]
		if p.kind == "private" || slices.ContainsFunc(seen[:len(seen)-1], near) || f != nil && (f.whole || f.read[p.line]) {
			continue
		}
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
	if line > 0 {
		c.args.Offset, c.args.Limit = max(line-readAbove, 1), readLines
	}
	return c
}

// definitionStart begins the pattern of lines that seem to define something.
const definitionStart = `\b(?:func|function|type|class|def|defn?|fn|fun|struct|interface|enum|trait|impl|const|module|object|record|` +
	`sub|define|var|val)\b[^=;]*`

// pattern returns the regular expression that finds the lines which a term may
// stand on. It may find more. What makes a search fast is a text that stands in
// every match as it is written: so only the first letter of a word is free.
func (r *researcher) pattern(t term) string {
	switch {
	case t.pair != "":
		first, second, _ := strings.Cut(strings.ToLower(t.text), " ")
		return capitals(literal(stem(first))) + "[a-z]*[ _-]?" + capitals(literal(stem(second)))
	case t.ident != "":
		words := subwords(t.text[strings.LastIndexAny(t.text, ".:>#/")+1:])
		for i, w := range words {
			words[i] = capitals(w)
		}
		return strings.Join(words, "[_-]?")
	}
	word := capitals(literal(t.stem))
	if len(t.stem) < 4 {
		return `(?:\b|_|[a-z])` + word
	}
	return word
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
			word := literal(stem(w))
			if alt := "**/*" + capitals(word) + "*"; len(word) > 2 && isASCII(word) && len(alts) < 12 && !slices.Contains(alts, alt) {
				alts = append(alts, alt, "**/"+capitals(word)+"*/*")
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

// knows reports whether the best place is one that the topic or the paths of
// the prompt have found.
func (r *researcher) knows() bool { return len(r.places) > 0 && r.places[0].known }

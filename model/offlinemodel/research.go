package offlinemodel

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/agentworker/worker/model"
)

// Bounds of a search. A step is one turn with tool calls.
const (
	maxSteps     = 4
	maxTermGreps = 5 // beside those for definitions and for lines with two terms
	maxWeakPairs = 2 // weak terms that are looked for beside strong ones
	maxReads     = 3 // places that are read around, in a step
	readAbove    = 25
	readLines    = 80
	maxTermLines = 200 // of one grep
	maxUseLines  = 60
	// maxPattern keeps within what a grep tool takes.
	maxPattern = 3000
)

// researcher is a search, at the point that the conversation has come to.
type researcher struct {
	q      query
	ev     *evidence
	tools  toolbox
	step   int     // turns with calls so far
	rank   []place // what was found, the best first
	ranker *ranker
	// concluding says that no tool may be called; none that there never was one.
	concluding bool
}

// research goes one step on with the search for an answer to the prompt.
func research(req *model.Request, tools toolbox, talk *conversation) turn {
	r := &researcher{q: parseQuery(talk.prompt, talk.earlier), tools: tools, concluding: req.NoToolCalls}
	for _, step := range talk.done {
		if slices.ContainsFunc(step, func(e exchange) bool { return e.call.tool != taskTool }) {
			r.step++
		}
	}
	r.ev = gather(talk.done)
	r.ranker = newRanker(&r.q, r.ev)
	r.rank = r.ranker.rank()
	if talk.prompt != "" && r.step < maxSteps {
		if calls, why := r.next(); len(calls) > 0 {
			return turn{reasoning: why, calls: calls}
		}
	}
	a := answer{researcher: r, prompt: talk.prompt}
	text := a.markdown()
	if failed := taskFailures(talk); failed != "" {
		text = failed + "\n\n" + text
	}
	return turn{text: text + "\n\n" + Note}
}

// next returns the calls of the next step, none if there is nothing left to do,
// and what they are for.
func (r *researcher) next() (calls []call, why string) {
	switch {
	case r.step == 0:
		calls = r.firstCalls()
		why = "Looking for " + r.subject() + "."
	default:
		calls = r.followUps()
		var places []string
		for _, c := range calls {
			if c.tool == "read_file" {
				places = append(places, fmt.Sprintf("%s:%d", c.args.Path, max(c.args.Offset, 1)))
			}
		}
		why = "Looking further."
		if len(places) > 0 {
			why = "Reading " + strings.Join(places, ", ") + "."
		} else if name := r.nameToFollow(r.best(1)); name != "" {
			why = "Looking for the uses of " + name + "."
		}
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
	for _, p := range r.q.paths {
		names = append(names, p.path)
	}
	for _, t := range r.searched() {
		if !r.namesPath(t.text) {
			names = append(names, t.text)
		}
	}
	if len(names) == 0 {
		return "an overview"
	}
	return strings.Join(names, ", ")
}

// searched returns the terms that are searched for: the strong ones, else all.
func (r *researcher) searched() []term {
	if strong := r.q.strong(); len(strong) > 0 || len(r.q.paths) > 0 && !r.onlyLoosePaths() {
		return strong
	}
	if !slices.ContainsFunc(r.q.terms, func(t term) bool { return !wholeWords[strings.ToLower(t.text)] }) {
		return nil
	}
	return r.q.terms[:min(len(r.q.terms), maxStrong)]
}

// weakOnes returns a few weak terms, where there are strong ones: beside those
// they help to find a line.
func (r *researcher) weakOnes() []term {
	var out []term
	for _, t := range r.q.terms {
		if t.weak && len(r.q.strong()) > 0 && len(out) < maxWeakPairs {
			out = append(out, t)
		}
	}
	return out
}

func (r *researcher) onlyLoosePaths() bool {
	return !slices.ContainsFunc(r.q.paths, func(p pathRef) bool { return !p.loose })
}

// aboutPaths reports whether the prompt asks for files or folders as such: it
// names some, and nothing to look for in them.
func (r *researcher) aboutPaths() bool {
	for _, t := range r.q.strong() {
		if !r.namesPath(t.text) {
			return false
		}
	}
	return len(r.q.paths) > 0 && !r.onlyLoosePaths() && !r.q.usage
}

// namesPath reports whether a word of the prompt is a path, or the name of the
// file that it leads to.
func (r *researcher) namesPath(word string) bool {
	return slices.ContainsFunc(r.q.paths, func(p pathRef) bool { return p.path == word || p.file && path.Base(p.path) == word })
}

// firstCalls reads what the prompt names, and searches for its terms in
// contents and names.
func (r *researcher) firstCalls() []call {
	var calls []call
	for _, p := range r.q.paths {
		switch {
		case p.file:
			calls = append(calls, r.read(p.path, p.line))
			if base := path.Base(p.path); !strings.HasPrefix(p.path, "/") && !strings.HasPrefix(p.path, "~") {
				calls = append(calls, globFor("**/"+globQuote(base)))
			}
		case r.tools.has("list_dir"):
			calls = append(calls, call{"list_dir", arguments{Path: p.path}})
		default:
			calls = append(calls, globFor(globQuote(p.path)+"/*"))
		}
	}
	terms := r.searched()
	if len(terms) == 0 && len(r.q.paths) == 0 {
		return append(calls, r.overviewCalls()...)
	}
	if r.aboutPaths() {
		return calls
	}
	if p := definitionPattern(terms); p != "" {
		calls = append(calls, r.grep(p, maxTermLines))
	}
	if p := pairPattern(append(terms[:min(len(terms), maxTermGreps):min(len(terms), maxTermGreps)], r.weakOnes()...)); p != "" {
		calls = append(calls, r.grep(p, maxTermLines))
	}
	for _, t := range terms[:min(len(terms), maxTermGreps)] {
		calls = append(calls, r.grep(t.pattern, maxTermLines))
	}
	if p := namePattern(terms); p != "" {
		calls = append(calls, globFor(p))
	}
	if !r.tools.has("grep") && !r.tools.has("glob") {
		calls = append(calls, call{tool: "list_dir"})
	}
	return calls
}

// overviewCalls find out what kind of repository this is.
func (r *researcher) overviewCalls() []call {
	if r.tools.has("list_dir") {
		return []call{{tool: "list_dir"}}
	}
	return []call{globFor("*/*"), globFor("[rR][eE][aA][dD][mM][eE]*")}
}

// followUps reads around the best places, and looks for the uses of what is
// defined there; where nothing was found, it looks in a wider circle.
func (r *researcher) followUps() []call {
	calls := r.namedElsewhere()
	if len(r.searched()) == 0 && len(r.q.paths) == 0 {
		if readme := r.readme(); readme != "" && r.ev.files[readme] == nil {
			calls = append(calls, r.read(readme, 0))
		}
		return calls
	}
	if r.aboutPaths() {
		return calls
	}
	best := r.best(maxReads)
	for _, p := range best {
		if !r.ev.files[p.path].wasRead(p.line) {
			calls = append(calls, r.read(p.path, p.line))
		}
	}
	if name := r.nameToFollow(best); name != "" {
		uses := r.grep("", maxUseLines)
		uses.args.IgnoreCase, uses.args.Pattern = false, usesPattern(name)
		calls = append(calls, uses)
	}
	if len(best) > 0 {
		return calls
	}
	for _, name := range r.namesByWorth() {
		if r.ev.files[name] == nil {
			if calls = append(calls, r.read(name, 0)); len(calls) >= maxReads {
				break
			}
		}
	}
	if r.step == 1 {
		for _, t := range r.q.terms {
			if t.weak && len(calls) < maxReads+maxTermGreps {
				calls = append(calls, r.grep(t.pattern, maxTermLines))
			}
		}
		calls = append(calls, call{tool: "list_dir"})
	}
	return calls
}

// best returns the n best places, no two of which are close together.
func (r *researcher) best(n int) []place {
	var out []place
	for _, p := range r.rank {
		if p.kind == private && !slices.ContainsFunc(r.q.paths, func(q pathRef) bool { return q.path == p.path }) {
			continue
		}
		near := slices.ContainsFunc(out, func(o place) bool {
			return o.path == p.path && p.line > o.line-readAbove && p.line < o.line+readLines-readAbove
		})
		if near {
			continue
		}
		if out = append(out, p); len(out) == n {
			break
		}
	}
	return out
}

// nameToFollow returns the name whose uses are worth a search: that of the
// function or type which the best place defines or belongs to. "": there is
// none, or it has been searched for.
func (r *researcher) nameToFollow(best []place) string {
	if len(best) == 0 || r.q.usage || best[0].kind != source || followed(r.ev) != "" {
		return ""
	}
	d, _, ok := r.enclosing(best[0].path, best[0].line)
	if best[0].isDef && best[0].def.body {
		d, ok = best[0].def, true
	}
	if !ok || len(d.name) < 4 || !isPlainName(d.name) {
		return ""
	}
	return d.name
}

// followed returns the name whose uses were searched for.
func followed(ev *evidence) string {
	for _, p := range ev.patterns {
		if m := wholeName.FindStringSubmatch(p); m != nil {
			return m[1]
		}
	}
	return ""
}

// usesPattern finds a plain name; no search for a term has such a pattern.
func usesPattern(name string) string { return `\b(?:` + name + `)\b` }

var wholeName = regexp.MustCompile(`^\\b\(\?:([\p{L}\p{N}_]+)\)\\b$`)

func isPlainName(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) < 0
}

package offlinemodel

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/model"
)

// Bounds of a search. A step is one turn with tool calls.
const (
	maxSteps  = 5
	maxReads  = 5 // files that are read around their best place
	readAbove = 30
	readLines = 90
)

// researcher knows what is asked and what has been found, the best first.
type researcher struct {
	q      *query
	ev     *evidence
	own    string                     // the repository's own name: it tells nothing of where something is in it
	beside []term                     // what the prompt asks for beside its topic and its paths
	topic  topic                      // the prompt's, if it holds
	held   map[string]map[int]matched // the lines with a term, by file
	found  []int                      // in how many files each term stands
	places []place
}

func newResearcher(q *query, ev *evidence, system string) *researcher {
	r := &researcher{q: q, ev: ev, own: ownName(system), held: map[string]map[int]matched{}, found: make([]int, len(q.terms))}
	r.setTopic()
	r.rank()
	return r
}

// research goes one step on with the search for an answer to the prompt.
func research(system string, tools map[string]*model.ToolSpec, talk *conversation) turn {
	q, ev := parseQuery(talk.prompt, talk.earlier), gather(talk.done)
	r := newResearcher(&q, ev, system)
	stages := []struct {
		why   string
		calls func() []call
	}{
		{"Looking at what files there are.", r.listCalls},
		{"Looking for the words of the question.", r.searchCalls},
		{"Reading the best places.", r.readCalls},
	}
	for i := 0; i < len(stages) && talk.prompt != "" && talk.steps < maxSteps; i++ {
		t := turn{reasoning: stages[i].why}
		for _, c := range stages[i].calls() {
			if tools[c.tool] != nil && !ev.made[c] && !slices.Contains(t.calls, c) {
				t.calls = append(t.calls, c)
			}
		}
		if len(t.calls) > 0 {
			return t
		}
	}
	switch {
	case talk.prompt == "":
		return turn{text: "There is no question in this conversation."}
	case talk.steps == 0:
		return turn{text: "The repository cannot be looked into: no tool for that may be called. The question stays open: " + shorten(talk.prompt)}
	}
	return turn{text: r.answer()}
}

// listCalls find out which files there are.
func (r *researcher) listCalls() []call {
	calls := []call{{tool: "list_dir"}, glob("**")}
	for _, p := range r.q.paths {
		if p.sure {
			calls = append(calls, read(p.path, p.line))
		}
		calls = append(calls, glob("**/"+globSpecial.ReplaceAllString(path.Base(p.path), `[$0]`)))
	}
	return calls
}

var globSpecial = regexp.MustCompile(`[*?{\[]`)

func glob(pattern string) call { return call{"glob", arguments{Pattern: pattern}} }
func grep(pattern string) call { return call{"grep", arguments{Pattern: pattern}} }

// read returns a call that reads around a line; 0 means from the start, all that
// one result holds.
func read(path string, line int) call {
	c := call{"read_file", arguments{Path: path}}
	if line > 0 {
		c.args.Offset, c.args.Limit = max(line-readAbove, 1), readLines
	}
	return c
}

// searchCalls read what the prompt names and what its topic is about, and
// search for the terms.
func (r *researcher) searchCalls() (calls []call) {
	for _, p := range r.q.paths {
		if n := r.ev.resolve(p.path); n != "" {
			calls = append(calls, read(n, 0))
		} else if p.sure {
			calls = append(calls, call{"list_dir", arguments{Path: p.path}})
		}
	}
	for _, s := range r.topic.sources {
		if s.files == nil {
			calls = append(calls, grep(s.find.String()))
			continue
		}
		for _, n := range r.candidates(s) {
			calls = append(calls, read(n, 0))
		}
	}
	if len(r.beside) == 0 && len(calls) > 0 {
		return calls
	}
	return append(calls, r.termCalls()...)
}

// termCalls search for the terms and, since the result of a search may be cut,
// for the lines that define them.
func (r *researcher) termCalls() (calls []call) {
	terms := r.q.strong()
	if len(terms) == 0 {
		terms = r.q.terms
	}
	for _, t := range terms[:min(len(terms), maxSearched)] {
		p := pattern(t)
		calls = append(calls, grep(p))
		if !regexp.MustCompile(p).MatchString(t.text) { // another form of it, as JSON or cfg
			calls = append(calls, grep(regexp.QuoteMeta(t.text)))
		}
		if !t.weak {
			calls = append(calls, grep(definitionStart+p))
		}
	}
	return calls
}

// readCalls read around the best place of each of the best files.
func (r *researcher) readCalls() (calls []call) {
	seen := map[string]bool{}
	for _, p := range r.places {
		if len(seen) == maxReads || r.knows() {
			break
		}
		switch {
		case seen[p.path], p.kind == "private", r.ev.file(p.path).whole:
		case p.kind == "document":
			calls = append(calls, read(p.path, 0))
		default:
			calls = append(calls, read(p.path, p.line))
		}
		seen[p.path] = true
	}
	return calls
}

// definitionStart begins the pattern of lines that seem to define something.
const definitionStart = `\b(?:func|function|type|class|def|defn?|fn|fun|struct|interface|enum|trait|impl|const|module|object|record|` +
	`sub|define|var|val)\b[^=;]*`

// pattern returns the regular expression that finds the lines which a term may
// stand on. It may find more. What makes a search fast is a text that stands in
// every match as it is written: so only the first letter of a word is free.
func pattern(t term) string {
	var parts []string
	for _, w := range t.words {
		if !t.exact {
			w = literal(w)
		}
		first := string([]rune(w)[:1])
		parts = append(parts, "(?i:"+regexp.QuoteMeta(first)+")"+regexp.QuoteMeta(w[len(first):]))
	}
	p := strings.Join(parts, "[_-]?")
	if !t.exact && len(t.name) < 4 {
		return `(?:\b|_|[a-z])` + p
	}
	return p
}

// knows reports whether the topic or a path of the prompt has found the best place.
func (r *researcher) knows() bool { return len(r.places) > 0 && r.places[0].known() }

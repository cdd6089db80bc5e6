package offlinemodel

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/agentworker/worker/internal/termtext"
)

// query is what a prompt asks for.
type query struct {
	text  string
	terms []term // those with the most weight first
	paths []pathRef
	topic topic // what it asks of a repository as such
}

// term is something to look for: a word, or a name in code.
type term struct {
	text   string
	words  []string // stems; of a name in code the words of its last part as they are
	name   string   // the words without anything between them
	exact  bool     // a name in code
	weak   bool     // counts where it stands, but is not worth a search
	weight float64
}

// pathRef is a path that the prompt names, if the repository has it.
type pathRef struct {
	path string
	line int  // 0 means none
	sure bool // a path, or the name of a file, whether or not it is found
}

// Bounds of what is made of a prompt.
const (
	maxPromptBytes = 6000
	maxTerms       = 14
	maxSearched    = 5
	maxPaths       = 4
)

// parseQuery makes a query of a prompt. Where the prompt names little of its
// own, as "and its tests?" does, the terms of the earlier prompt count too.
func parseQuery(prompt, earlier string) query {
	q := query{text: prompt, topic: topicOf(prompt)}
	q.read(prompt, 1)
	if len(q.paths) == 0 && len(q.strong()) < 2 {
		q.read(earlier, 0.5)
	}
	slices.SortStableFunc(q.terms, func(a, b term) int { return cmp.Compare(b.weight, a.weight) })
	q.terms = q.terms[:min(len(q.terms), maxTerms)]
	q.paths = q.paths[:min(len(q.paths), maxPaths)]
	return q
}

// asks reports whether the prompt asks for what the pattern is named for.
func (q *query) asks(what string) bool { return matches(what, q.text) }

// strong returns the terms that are worth a search.
func (q *query) strong() []term {
	return slices.DeleteFunc(slices.Clone(q.terms), func(t term) bool { return t.weak })
}

var (
	urls       = compiled(`\b[a-zA-Z][a-zA-Z+.-]*://\S+`)
	rawToken   = compiled("[`\"“']?" + `[\p{L}\p{M}\p{N}_$@~./\\:#’'+-]+(?:\(\))?` + "[`\"”]?")
	qualifiers = compiled(`\.|::|->|#|/`)
	identifier = compiled(`\(\)$|^[$@]|^[\p{L}_].*(?:[_#.]|::|->|\p{Ll}\p{Lu})|^_`)
	pathToken  = compiled(`^(?:\./)?([\p{L}\p{N}_.@~+()\[\]$/-]+?)(/)?(?:[:#]L?(\d{1,7})(?:[:-]\d+)?)?$`)
	surePath   = compiled(`^\.\p{L}|/.*/|/[^/]*\.\p{L}[\p{L}\p{N}_-]*$`)
	maybePath  = compiled(`/|\.\p{L}[\p{L}\p{N}_-]{0,11}$`)
)

// read adds what a prompt names, each weight multiplied by factor.
func (q *query) read(prompt string, factor float64) {
	prompt = urls().ReplaceAllString(strings.ToValidUTF8(termtext.Head(prompt, maxPromptBytes), " "), " ")
	for _, s := range rawToken().FindAllString(prompt, -1) {
		bare := strings.Trim(s, "`\"“”'")
		q.addToken(bare, factor, bare != s)
	}
}

// addToken adds what a token of a prompt stands for: a path, a name in code, or
// words.
func (q *query) addToken(s string, factor float64, quoted bool) {
	s = strings.TrimLeft(strings.TrimRight(s, `.:-’'\+#@`), `’':+\`)
	s = strings.TrimSuffix(strings.TrimSuffix(s, "'s"), "’s")
	if p, ok := parsePath(s, quoted); ok && !products()[strings.ToLower(s)] {
		if !slices.ContainsFunc(q.paths, func(o pathRef) bool { return o.path == p.path }) {
			q.paths = append(q.paths, p)
		}
		if strings.Contains(s, "/") {
			q.addWords(s, factor*0.5, p.sure)
			return
		}
	}
	s = strings.Trim(s, "-/~\\")
	parts := slices.DeleteFunc(qualifiers().Split(strings.TrimSuffix(s, "()"), -1), func(p string) bool { return flat(p) == "" })
	if len(parts) == 0 || !quoted && !identifier().MatchString(s) {
		q.addWords(s, factor, false)
		return
	}
	last := parts[len(parts)-1]
	q.add(term{text: strings.TrimSuffix(s, "()"), words: subwords(last), exact: true, weight: 2 * factor})
	if words := subwords(s); len(words) > 1 {
		q.addWords(strings.Join(words, " "), 0.3*factor, true)
	}
}

// addWords adds the plain words of a text, but for stop words and those that
// are too short to tell. A word in capitals, as SET, is the name of something.
func (q *query) addWords(s string, factor float64, weak bool) {
	for w := range strings.FieldsFuncSeq(s, isSeparator) {
		low, size := strings.ToLower(w), len([]rune(w))
		capitals := size > 1 && w == strings.ToUpper(w) && !unicode.IsDigit(rune(w[0]))
		if !capitals && (stopWords()[low] || size < 2 || size == 2 && same()[low] == "") {
			continue
		}
		t := term{text: w, words: []string{stem(low)}, weak: !capitals && (weak || weakWords()[low]), weight: factor}
		if t.weak {
			t.weight *= 0.3
		}
		q.add(t)
	}
}

func (q *query) add(t term) {
	t.name = strings.Join(t.words, "")
	if !slices.ContainsFunc(q.terms, func(o term) bool { return o.exact == t.exact && slices.Equal(o.words, t.words) }) {
		q.terms = append(q.terms, t)
	}
}

// parsePath reports whether a token of a prompt may be a path, and which.
func parsePath(s string, quoted bool) (p pathRef, ok bool) {
	m := pathToken().FindStringSubmatch(strings.ReplaceAll(s, `\`, "/"))
	if m == nil || strings.Trim(m[1], "./~") == "" || strings.HasSuffix(m[1], "()") {
		return pathRef{}, false
	}
	p.path = m[1]
	p.line, _ = strconv.Atoi(m[3]) // at most 7 digits
	// A name such as main.go or res.json may be a member of something.
	p.sure = m[2] != "" || fileNames()[p.path] || surePath().MatchString(p.path) || quoted && strings.Contains(p.path, "/")
	return p, p.sure || maybePath().MatchString(p.path)
}

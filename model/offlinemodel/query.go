package offlinemodel

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// query is what a prompt asks for.
type query struct {
	text  string
	terms []term // those with the most weight first
	paths []pathRef
	topic *topic // what it asks of a repository as such; nil: nothing known
}

// asks reports whether the prompt asks for usage, tests, docs, a value, a
// sample or contents: the names of patterns.
func (q *query) asks(what string) bool { return matches(what, q.text) }

// term is something to look for.
type term struct {
	text      string
	stem      string // of a word; empty: the term is an identifier
	ident     string // an identifier without what joins its words, in lower case; of a qualified one the last part
	qualified bool
	pair      string // the stems of two words side by side: they make a name together
	weak      bool   // counts where it stands, but is not worth a search
	weight    float64
}

// pathRef is a path that the prompt names, if the repository has it.
type pathRef struct {
	path string
	line int  // 0: none
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
	prompt = strings.ToValidUTF8(cut(prompt, maxPromptBytes), " ")
	q := query{text: prompt, topic: topicOf(prompt)}
	q.read(prompt, 1)
	if earlier != "" && len(q.paths) == 0 && len(q.strong()) < 2 {
		q.read(strings.ToValidUTF8(cut(earlier, maxPromptBytes), " "), 0.5)
	}
	slices.SortStableFunc(q.terms, func(a, b term) int { return cmp.Compare(b.weight, a.weight) })
	q.terms = q.terms[:min(len(q.terms), maxTerms)]
	q.paths = q.paths[:min(len(q.paths), maxPaths)]
	return q
}

// strong returns the terms that are worth a search.
func (q *query) strong() []term {
	return slices.DeleteFunc(slices.Clone(q.terms), func(t term) bool { return t.weak })
}

// searched returns the terms that are searched for: the strong ones, else the
// weak ones, and a pair.
func (q *query) searched() []term {
	out := q.strong()
	if len(out) == 0 {
		out = q.terms
	}
	out = slices.Clone(out[:min(len(out), maxSearched)])
	if i := slices.IndexFunc(q.terms, func(t term) bool { return t.pair != "" }); i >= 0 {
		out = append(out, q.terms[i])
	}
	return out
}

// match returns how well each term matches a line.
func (q *query) match(line string) []float64 {
	in, out := newText(line), make([]float64, len(q.terms))
	for i := range q.terms {
		out[i] = q.terms[i].match(in)
	}
	return out
}

var (
	quotedText = regexp.MustCompile("`([^`\\s]{1,200})`" + `|"([^"\s]{1,200})"|“([^”\s]{1,200})”|(?:^|[\s(])'([^'\s]{2,100})'`)
	urls       = regexp.MustCompile(`\b[a-zA-Z][a-zA-Z+.-]*://\S+`)
	rawToken   = regexp.MustCompile(`[\p{L}\p{M}\p{N}_$@~./\\:#’'+-]+(?:\(\))?`)
	qualifiers = regexp.MustCompile(`\.|::|->|#|/`)
	pathChars  = regexp.MustCompile(`^[\p{L}\p{N}_.@~+()\[\]$/-]+$`)
	pathLine   = regexp.MustCompile(`^(.+?)[:#]L?(\d{1,7})(?:[:-]\d+)?$`)
	dottedName = regexp.MustCompile(`^[\p{L}\p{N}_-]*(?:\.[\p{L}\p{N}_-]+)*\.[\p{L}][\p{L}\p{N}_-]{0,11}$`)
	plainWord  = regexp.MustCompile(`^\p{L}{2,}$`)
	identifier = regexp.MustCompile(`\(\)$|^[$@]|^[\p{L}_].*(?:[_#.]|::|->|\p{Ll}\p{Lu})|^_`)
)

// read adds what a prompt names, each weight multiplied by factor.
func (q *query) read(prompt string, factor float64) {
	prompt = urls.ReplaceAllString(prompt, " ")
	for _, m := range quotedText.FindAllStringSubmatch(prompt, -1) {
		q.addToken(strings.Join(m[1:], ""), factor, true)
	}
	before := ""
	for _, s := range rawToken.FindAllString(quotedText.ReplaceAllString(prompt, " "), -1) {
		q.addToken(s, factor, false)
		word := strings.ToLower(s)
		if !plainWord.MatchString(s) || stopWords[word] && s != strings.ToUpper(s) {
			word = ""
		}
		if before != "" && word != "" && !(weakWords[before] && weakWords[word]) {
			pair := literal(stem(before)) + literal(stem(word))
			q.add(term{text: before + " " + word, pair: pair, weak: true, weight: 1.2 * factor})
		}
		before = word
	}
}

// addToken adds what a token of a prompt stands for: a path, a name in code, or
// words.
func (q *query) addToken(s string, factor float64, quoted bool) {
	s = strings.TrimLeft(strings.TrimRight(s, `.:-’'\+#@`), `’':+\`)
	s = strings.TrimSuffix(strings.TrimSuffix(s, "'s"), "’s")
	product := products[flat(s)] && !quoted
	if p, ok := parsePath(s, quoted); ok && !product {
		if !slices.ContainsFunc(q.paths, func(o pathRef) bool { return o.path == p.path }) {
			q.paths = append(q.paths, p)
		}
		if strings.Contains(s, "/") {
			for w := range strings.FieldsFuncSeq(s, isSeparator) {
				q.addWord(w, factor*0.5, p.sure)
			}
			return
		}
	}
	s = strings.Trim(s, "-/~\\")
	name := strings.TrimSuffix(s, "()")
	parts := slices.DeleteFunc(qualifiers.Split(name, -1), func(p string) bool { return flat(p) == "" })
	if len(parts) > 0 && !product && (quoted || identifier.MatchString(s)) {
		q.add(term{text: name, ident: flat(parts[len(parts)-1]), qualified: len(parts) > 1, weight: 2 * factor})
		if words := subwords(s); len(words) > 1 {
			for _, w := range words {
				q.addWord(w, 0.3*factor, true)
			}
		}
		return
	}
	for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return isSeparator(r) && r != '\'' && r != '’' }) {
		q.addWord(w, factor, false)
	}
}

// addWord adds a plain word, unless it is a stop word or too short to tell.
func (q *query) addWord(w string, factor float64, weak bool) {
	low := strings.ToLower(strings.Trim(w, "'’"))
	runes := []rune(low)
	upper := w == strings.ToUpper(w)
	capital := len(runes) > 2 && upper && (stopWords[low] || weakWords[low]) // as in: the SET command
	short := len(runes) < 2 || len(runes) == 2 && (!upper || unicode.IsDigit(runes[0])) && same[low] == ""
	if short && isASCII(low) || len(runes) == 0 || stopWords[low] && !capital || strings.ContainsAny(low, "'’") {
		return
	}
	t := term{text: w, stem: stem(low), weak: !capital && (weak || weakWords[low]), weight: factor}
	switch {
	case t.weak:
		t.weight *= 0.3
	case strings.HasSuffix(low, "ed") || strings.HasSuffix(low, "ing"):
		t.weight *= 0.8 // what is done to a thing is less telling than the thing
	}
	q.add(t)
}

func (q *query) add(t term) {
	if !slices.ContainsFunc(q.terms, func(o term) bool { return o.stem == t.stem && o.ident == t.ident && o.pair == t.pair }) {
		q.terms = append(q.terms, t)
	}
}

// parsePath reports whether a token of a prompt may be a path, and which.
func parsePath(s string, quoted bool) (pathRef, bool) {
	p := pathRef{path: s}
	if m := pathLine.FindStringSubmatch(s); m != nil {
		p.path = m[1]
		p.line, _ = strconv.Atoi(m[2]) // at most 7 digits
	}
	folder := strings.HasSuffix(p.path, "/")
	p.path = strings.TrimSuffix(strings.TrimPrefix(strings.ReplaceAll(p.path, `\`, "/"), "./"), "/")
	if !pathChars.MatchString(p.path) || strings.Trim(p.path, "./~") == "" || strings.HasSuffix(p.path, "()") {
		return pathRef{}, false
	}
	slashes := strings.Count(p.path, "/")
	dotted := dottedName.MatchString(p.path[strings.LastIndex(p.path, "/")+1:])
	named := fileNames[p.path] || fileNames[strings.ToLower(p.path)]
	// A name such as main.go or res.json may be a member of something.
	p.sure = folder || named || slashes > 1 || slashes > 0 && (quoted || dotted) || dotted && strings.HasPrefix(p.path, ".")
	return p, p.sure || slashes > 0 || dotted
}

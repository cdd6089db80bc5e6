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
	text   string
	terms  []term
	paths  []pathRef
	topic  *topic // what it asks of a repository as such; nil: nothing known
	usage  bool   // asks for uses rather than for a definition
	tests  bool   // asks for tests
	docs   bool   // asks for documents
	how    bool   // asks how a user does something
	value  bool   // asks for a default, a limit, a number
	sample bool   // asks for examples
}

// term is something to look for.
type term struct {
	text   string
	stem   string // of a word; empty: the term is an identifier or a phrase
	ident  string // an identifier without what joins its words, in lower case
	member string // the last part of a qualified one, likewise
	phrase string // quoted words, in lower case
	pair   string // the stems of two words side by side: they make a name together
	weak   bool   // counts where it stands, but is not worth a search
	weight float64
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

var (
	usageAsked  = regexp.MustCompile(`(?i)\b(usages?|uses of|users of|callers?|call sites?|references? (to|of)|who (calls|uses)|what (calls|uses)|where (is|are|do we|does it)\b.{1,60}\b(used|called|call|referenced|invoked|instantiated))\b`)
	testsAsked  = regexp.MustCompile(`(?i)\b(tests?|tested|testing|specs?)\b`)
	docsAsked   = regexp.MustCompile(`(?i)\b(docs?|documented|documentation|readme|guide|tutorial)\b`)
	howAsked    = regexp.MustCompile(`(?i)^\W*(how (do|can|should|would|to|must) ?(i|you|we|one|a user)?\b|can i\b|is (it|there a way) (possible )?to\b|what is the way to)`)
	valueAsked  = regexp.MustCompile(`(?i)\b(default|defaults|how (many|much|long|big|large|often)|maximum|minimum|limit|timeout|port|size|value of)\b`)
	sampleAsked = regexp.MustCompile(`(?i)\b(examples?|samples?|demos?)\b`)
)

// parseQuery makes a query of a prompt. Where the prompt names little of its
// own, as "and its tests?" does, the terms of the earlier prompt count too.
func parseQuery(prompt, earlier string) query {
	prompt = strings.ToValidUTF8(cut(prompt, maxPromptBytes), " ")
	q := query{
		text:   prompt,
		usage:  usageAsked.MatchString(prompt),
		tests:  testsAsked.MatchString(prompt),
		docs:   docsAsked.MatchString(prompt),
		how:    howAsked.MatchString(prompt),
		value:  valueAsked.MatchString(prompt),
		sample: sampleAsked.MatchString(prompt),
		topic:  topicOf(prompt),
	}
	q.read(prompt, 1)
	if earlier != "" && len(q.paths) == 0 && len(q.strong()) < 2 {
		q.read(strings.ToValidUTF8(cut(earlier, maxPromptBytes), " "), 0.5)
	}
	slices.SortStableFunc(q.terms, func(a, b term) int { return cmp.Compare(b.weight, a.weight) })
	q.terms = q.terms[:min(len(q.terms), maxTerms)]
	q.paths = q.paths[:min(len(q.paths), maxPaths)]
	return q
}

// strong reports whether the term is worth a search of its own.
func (t *term) strong() bool { return !t.weak && t.pair == "" }

// strong returns the terms that are worth a search.
func (q *query) strong() []term {
	return slices.DeleteFunc(slices.Clone(q.terms), func(t term) bool { return !t.strong() })
}

// match returns how well each term matches a line.
func (q *query) match(line string) []float64 {
	in, out := newText(line), make([]float64, len(q.terms))
	for i := range q.terms {
		out[i] = q.terms[i].match(&in)
	}
	return out
}

// searched returns the terms that are searched for: the strong ones, else the
// weak ones.
func (q *query) searched() []term {
	out := q.strong()
	if len(out) == 0 {
		out = q.terms
	}
	out = out[:min(len(out), maxSearched)]
	for _, t := range q.terms {
		if t.pair != "" && len(out) < maxSearched+2 {
			out = append(slices.Clip(out), t)
		}
	}
	return out
}

var (
	quotedText = regexp.MustCompile("`([^`\n]{1,200})`" + `|"([^"\n]{1,200})"|“([^”\n]{1,200})”|«([^»\n]{1,200})»|(?:^|[\s(])'([^'\n]{2,100})'`)
	urls       = regexp.MustCompile(`\b[a-zA-Z][a-zA-Z+.-]*://\S+`)
	rawToken   = regexp.MustCompile(`[\p{L}\p{M}\p{N}_$@~./\\:#’'+-]+(?:\(\))?`)
	qualifiers = regexp.MustCompile(`\.|::|->|#|/`)
	pathChars  = regexp.MustCompile(`^[\p{L}\p{N}_.@~+()\[\]$/-]+$`)
	pathLine   = regexp.MustCompile(`^(.+?)[:#]L?(\d{1,7})(?:[:-]\d+)?$`)
	dottedName = regexp.MustCompile(`^[\p{L}\p{N}_-]*(?:\.[\p{L}\p{N}_-]+)*\.[\p{L}][\p{L}\p{N}_-]{0,11}$`)
	plainWord  = regexp.MustCompile(`^\p{L}{2,}$`)
	plainNames = wordSet("makefile dockerfile jenkinsfile vagrantfile procfile gemfile rakefile justfile brewfile")
	shouted    = wordSet("README LICENSE LICENCE COPYING CHANGELOG CONTRIBUTING AUTHORS CODEOWNERS NOTICE SECURITY VERSION")
	products   = wordSet("node.js vue.js next.js nuxt.js express.js react.js d3.js three.js angular.js ember.js asp.net e.g i.e a.k.a etc.")
)

// read adds what a prompt names, each weight multiplied by factor.
func (q *query) read(prompt string, factor float64) {
	prompt = urls.ReplaceAllString(prompt, " ")
	for _, m := range quotedText.FindAllStringSubmatch(prompt, -1) {
		s := strings.TrimSpace(strings.Join(m[1:], ""))
		if strings.ContainsFunc(s, unicode.IsSpace) {
			q.add(term{text: s, phrase: strings.ToLower(strings.Join(strings.Fields(s), " ")), weight: 2.5 * factor})
			for _, w := range rawToken.FindAllString(s, -1) {
				q.addToken(w, factor, false)
			}
		} else if s != "" {
			q.addToken(s, factor, true)
		}
	}
	before := ""
	for _, s := range rawToken.FindAllString(quotedText.ReplaceAllString(prompt, " "), -1) {
		q.addToken(s, factor, false)
		word := strings.ToLower(s)
		if !plainWord.MatchString(s) || stopWords[word] && s != strings.ToUpper(s) {
			before = ""
			continue
		}
		if before != "" && !(weakWords[before] && weakWords[word]) {
			q.add(term{text: before + " " + word, pair: literal(stem(before)) + literal(stem(word)), weight: 1.2 * factor})
		}
		before = word
	}
}

// addToken adds what a token of a prompt stands for.
func (q *query) addToken(s string, factor float64, quoted bool) {
	s = strings.TrimLeft(strings.TrimRight(s, `.:-’'\+#@`), `’':+\`)
	s = strings.TrimSuffix(strings.TrimSuffix(s, "'s"), "’s")
	if s == "" || products[strings.ToLower(s)] && !quoted {
		q.addWords(s, factor)
		return
	}
	if p, ok := parsePath(s, quoted); ok {
		if !slices.ContainsFunc(q.paths, func(o pathRef) bool { return o.path == p.path }) {
			q.paths = append(q.paths, p)
		}
		if strings.Contains(s, "/") {
			for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
				q.addWord(w, factor*0.5, p.sure)
			}
			return
		}
	}
	s = strings.Trim(s, "-/~\\")
	if isIdentifier(s) || quoted {
		parts := qualifiers.Split(strings.TrimSuffix(s, "()"), -1)
		parts = slices.DeleteFunc(parts, func(p string) bool { return flat(p) == "" })
		if len(parts) == 0 {
			return
		}
		t := term{text: strings.TrimSuffix(s, "()"), ident: flat(s), weight: 2 * factor}
		if len(parts) > 1 {
			t.member = flat(parts[len(parts)-1])
		}
		q.add(t)
		if words := subwords(s); len(words) > 1 {
			for _, w := range words {
				q.addWord(w, 0.3*factor, true)
			}
		}
		return
	}
	q.addWords(s, factor)
}

func (q *query) addWords(s string, factor float64) {
	for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '’' }) {
		q.addWord(w, factor, false)
	}
}

// addWord adds a plain word, unless it is a stop word.
func (q *query) addWord(w string, factor float64, weak bool) {
	low := strings.ToLower(strings.Trim(w, "'’"))
	runes := []rune(low)
	capital := len(runes) > 2 && w == strings.ToUpper(w) && (stopWords[low] || weakWords[low]) // as in: the SET command
	switch {
	case capital:
	case stopWords[strings.NewReplacer("'", "", "’", "").Replace(low)], strings.ContainsAny(low, "'’"), len(runes) == 0:
		return
	case len(runes) == 1 && runes[0] < 0x2E80: // a letter, unless it is a word by itself
		return
	case len(runes) == 2 && w != strings.ToUpper(w) && same[low] == "" && runes[0] < 0x2E80:
		return
	case strings.Trim(low, "0123456789") == "" && len(low) < 3:
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
	if !slices.ContainsFunc(q.terms, func(o term) bool {
		return o.stem == t.stem && o.ident == t.ident && o.pair == t.pair && o.phrase == t.phrase
	}) {
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
	p.path = strings.TrimSuffix(strings.TrimPrefix(strings.ReplaceAll(p.path, `\`, "/"), "./"), "/")
	if !pathChars.MatchString(p.path) || strings.Trim(p.path, "./~") == "" || strings.Contains(p.path, "//") || strings.HasSuffix(p.path, "()") {
		return pathRef{}, false
	}
	slashes := strings.Count(strings.TrimRight(s, "/"), "/")
	dotted := dottedName.MatchString(p.path[strings.LastIndex(p.path, "/")+1:])
	switch {
	case slashes > 0:
		p.sure = quoted || slashes > 1 || dotted || strings.HasSuffix(s, "/")
	case strings.HasSuffix(s, "/"), plainNames[strings.ToLower(p.path)], shouted[p.path]:
		p.sure = true
	case !dotted:
		return pathRef{}, false
	default: // a name such as main.go or res.json, which may be a member of something
		p.sure = strings.HasPrefix(p.path, ".")
	}
	return p, true
}

// isIdentifier reports whether a token is the name of something in code, by
// the way it is written.
func isIdentifier(s string) bool {
	if strings.HasSuffix(s, "()") || strings.HasPrefix(s, "$") || strings.HasPrefix(s, "@") {
		return true
	}
	if s == "" || !unicode.IsLetter([]rune(s)[0]) && s[0] != '_' {
		return false
	}
	lower := false
	for i, r := range s {
		switch {
		case strings.ContainsRune("_#.", r), strings.HasPrefix(s[i:], "::"), strings.HasPrefix(s[i:], "->"), unicode.IsUpper(r) && lower:
			return true
		}
		lower = unicode.IsLower(r)
	}
	return false
}

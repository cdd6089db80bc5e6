package offlinemodel

import (
	_ "embed" // the word lists
	"slices"
	"strings"
	"unicode"
)

var (
	//go:embed wordlists/stop.txt
	stopList string
	//go:embed wordlists/weak.txt
	weakList string
	//go:embed wordlists/keep.txt
	keepList string
	//go:embed wordlists/same.txt
	sameList string
	//go:embed wordlists/related.txt
	relatedList string
	//go:embed wordlists/topic.txt
	topicList string

	// stopWords say nothing about what to look for.
	stopWords = wordSet(stopList)
	// weakWords are so common in code and in questions on code that they are
	// looked for only where there is nothing better.
	weakWords = wordSet(weakList)
	// keptWords look as if they ended in a suffix.
	keptWords = wordSet(keepList)

	// same has for each word of a line of sameList the stem of the first:
	// the short forms that code prefers.
	same = map[string]string{}
	// shortForms has for such a stem the other words of the line.
	shortForms = map[string][]string{}
	// related has for a stem the stems of words that code may use for it.
	related = map[string][]string{}
	// topicStems say no more than the topic of a prompt.
	topicStems = map[string]bool{}
)

func init() {
	for l := range strings.Lines(sameList) {
		words := strings.Fields(l)
		for _, w := range words {
			same[w] = suffixless(words[0])
		}
		shortForms[suffixless(words[0])] = words[1:]
	}
	for l := range strings.Lines(relatedList) {
		var stems []string
		for w := range strings.FieldsSeq(l) {
			stems = append(stems, stem(w))
		}
		for _, s := range stems {
			related[s] = append(related[s], stems...)
		}
	}
	for w := range wordSet(topicList) {
		topicStems[stem(w)] = true
	}
}

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// stem returns what the forms of an English word have in common: decid for
// decided and decision, config for cfg. It errs towards finding too little.
func stem(word string) string {
	w := strings.ToLower(word)
	if s, ok := same[w]; ok {
		return s
	}
	w = suffixless(w)
	if s, ok := same[w]; ok {
		return s
	}
	return w
}

// suffixes are tried in order; the first that leaves enough is taken off. Each
// is a text, how much has to be left, and what it becomes.
var suffixes = []struct {
	text    string
	least   int
	becomes string
}{
	{"ification", 3, "ify"}, {"ization", 4, "iz"}, {"isation", 4, "is"}, {"ation", 4, ""}, {"ied", 3, "y"}, {"ier", 4, "y"}, {"ion", 5, ""},
	{"ment", 5, ""}, {"ness", 4, ""}, {"able", 4, ""}, {"ible", 4, ""}, {"ance", 5, ""}, {"ence", 5, ""}, {"val", 4, "v"},
	{"ing", 3, ""}, {"ed", 3, ""}, {"er", 4, ""}, {"or", 4, ""}, {"ly", 4, ""},
}

func suffixless(w string) string {
	if len(w) < 4 || strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return w
	}
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		w = w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "xes"):
		w = w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
		w = w[:len(w)-1]
	}
	for _, s := range suffixes {
		base, ok := strings.CutSuffix(w, s.text)
		if !ok || keptWords[w] || len(base) < s.least || !strings.ContainsAny(base, "aeiouy") {
			continue
		}
		w = base + s.becomes
		n := len(w)
		switch {
		case s.text == "ion" && strings.HasSuffix(w, "miss"): // permission, permit
			w = w[:n-2] + "t"
		case s.text == "ion" && w[n-1] == 's' && w[n-2] != 's': // decision, decide
			w = w[:n-1] + "d"
		case s.becomes == "" && n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeiousz", rune(w[n-1])) && (w[n-1] != 'l' || n > 5):
			w = w[:n-1] // running, run
		}
		break
	}
	if len(w) > 4 {
		w = strings.TrimSuffix(w, "e")
	}
	return w
}

// literal returns the beginning that all forms of a stem have.
func literal(stem string) string {
	n := len(stem)
	switch {
	case n >= 4 && stem[n-1] == 'y', n >= 5 && (strings.HasSuffix(stem, "id") || strings.HasSuffix(stem, "ud") || strings.HasSuffix(stem, "nd") || strings.HasSuffix(stem, "mit")):
		return stem[:n-1]
	}
	return stem
}

// subwords splits text into the lower-case words that it and its identifiers
// consist of: parse, yaml and file for ParseYAML_file.
func subwords(text string) []string {
	var words []string
	runes := []rune(text)
	start := -1
	flush := func(end int) {
		if start >= 0 && end > start {
			words = append(words, strings.ToLower(string(runes[start:end])))
		}
		start = -1
	}
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush(i)
			continue
		}
		if start >= 0 && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			flush(i)
		}
		if start < 0 {
			start = i
		}
	}
	flush(len(runes))
	return words
}

// flat returns the letters and digits of a name, in lower case.
func flat(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// text is a line as terms are matched against it.
type text struct {
	lower  string
	idents []string // as flat makes them
	flat   string   // the whole line, likewise
	stems  map[string]bool
}

func newText(s string) text {
	t := text{lower: strings.ToLower(s), flat: flat(s), stems: map[string]bool{}}
	for w := range strings.FieldsFuncSeq(t.lower, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' }) {
		if id := flat(w); id != "" {
			t.idents = append(t.idents, id)
		}
	}
	for _, w := range subwords(s) {
		t.stems[stem(w)] = true
	}
	return t
}

// How well a term matches.
const (
	matchForm    = 0.95 // another form of the word
	matchPart    = 0.5  // it stands inside of a longer name
	matchMember  = 0.6  // the last part of a qualified name alone, or a pair inside of a line
	matchRelated = 0.35
	matchLeast   = 0.4 // below, it does not count as found
)

// match returns how well a term matches a text: from 0, not at all, to 1.
func (t *term) match(in *text) (best float64) {
	switch {
	case t.phrase != "" && strings.Contains(strings.Join(strings.Fields(in.lower), " "), t.phrase),
		t.member != "" && strings.Contains(in.lower, strings.ToLower(t.text)):
		return 1
	case t.stem != "" && in.stems[t.stem] && strings.Contains(in.lower, strings.ToLower(t.text)):
		return 1
	case t.stem != "" && in.stems[t.stem]:
		return matchForm
	case t.phrase != "", t.pair != "" && !strings.Contains(in.flat, t.pair):
		return 0
	case t.pair != "":
		best = matchMember
	}
	for _, id := range in.idents {
		switch {
		case id == t.ident, t.pair != "" && strings.HasPrefix(id, t.pair):
			return 1
		case t.member != "" && id == t.member:
			best = max(best, matchMember)
		case len(t.ident) > 3 && strings.Contains(id, t.ident), len(t.stem) > 3 && strings.Contains(id, t.stem):
			best = max(best, matchPart)
		}
	}
	if best == 0 && slices.ContainsFunc(related[t.stem], func(o string) bool { return in.stems[o] }) {
		return matchRelated
	}
	return best
}

package offlinemodel

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

var (
	stopWords  = wordSet("stop", strings.Clone)  // they say nothing about what to look for
	weakWords  = wordSet("weak", strings.Clone)  // so common that they are looked for only where there is nothing better
	keptWords  = wordSet("keep", strings.Clone)  // they look as if they ended in a suffix
	fileNames  = wordSet("names", strings.Clone) // names of files that have no dot
	products   = wordSet("products", flat)       // names that look like those of files
	endings    = readEndings()                   // by what they are: plural, suffix
	same       = map[string]string{}             // for a word, the stem of the word that it is a form of: config for cfg
	related    = map[string][]string{}           // for a stem, those of words that code may use for it
	topicStems = wordSet("topic", stem)          // they say no more than the topic of a prompt
)

func init() {
	for _, words := range wordLines("same") {
		first := suffixless(words[0])
		for _, w := range words {
			same[w] = first
		}
	}
	for _, words := range wordLines("related") {
		for _, w := range words {
			for _, other := range words {
				related[stem(w)] = append(related[stem(w)], stem(other))
			}
		}
	}
}

// ending is what is taken off a word.
type ending struct {
	text    string
	least   int // letters that have to be left
	becomes string
}

func readEndings() map[string][]ending {
	out := map[string][]ending{}
	for what, rest := range rows("suffixes") {
		fields := append(strings.Fields(rest), "")
		least, _ := strconv.Atoi(fields[1])
		out[what] = append(out[what], ending{fields[0], least, fields[2]})
	}
	return out
}

// without takes the first ending that fits off a word.
func without(w string, endings []ending) string {
	for _, e := range endings {
		if base, ok := strings.CutSuffix(w, e.text); ok && len(base) >= e.least && strings.ContainsAny(base, "aeiouy") {
			return base + e.becomes
		}
	}
	return w
}

// stem returns what the forms of an English word have in common: decid for
// decided and decision, config for cfg. It errs towards finding too little.
func stem(word string) string {
	w := strings.ToLower(word)
	for _, form := range []string{w, suffixless(w)} {
		if s, ok := same[form]; ok {
			return s
		}
		w = form
	}
	return w
}

func suffixless(w string) string {
	if len(w) < 4 || strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return w
	}
	w = without(w, endings["plural"])
	if !keptWords[w] {
		short := without(w, endings["suffix"])
		n := len(short)
		if short != w && n > 3 && short[n-1] == short[n-2] && !strings.ContainsRune("aeiousz", rune(short[n-1])) && (short[n-1] != 'l' || n > 5) {
			short = short[:n-1] // running, run
		}
		w = short
	}
	if len(w) > 4 {
		w = strings.TrimSuffix(w, "e")
	}
	return w
}

// literal returns the beginning that all forms of a stem have.
func literal(stem string) string {
	for _, end := range []string{"y", "id", "ud", "nd", "mit"} {
		if strings.HasSuffix(stem, end) && len(stem) >= max(4, len(end)+3) {
			return stem[:len(stem)-1]
		}
	}
	return stem
}

// subwords splits text into the lower-case words that it and its identifiers
// consist of: parse, yaml and file for ParseYAML_file.
func subwords(text string) (words []string) {
	for word := range strings.FieldsFuncSeq(text, isSeparator) {
		runes, start := []rune(word), 0
		for i := 1; i < len(runes); i++ {
			begins := !unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if unicode.IsUpper(runes[i]) && begins {
				words = append(words, strings.ToLower(string(runes[start:i])))
				start = i
			}
		}
		words = append(words, strings.ToLower(string(runes[start:])))
	}
	return words
}

func isSeparator(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// flat returns the letters and digits of a name, in lower case.
func flat(s string) string {
	return strings.Map(func(r rune) rune {
		if isSeparator(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// text is a line as terms are matched against it.
type text struct {
	lower  string
	idents []string // as flat makes them
	stems  map[string]bool
}

func newText(s string) *text {
	t := &text{lower: strings.ToLower(s), stems: map[string]bool{}}
	for w := range strings.FieldsFuncSeq(t.lower, func(r rune) bool { return isSeparator(r) && r != '_' && r != '-' }) {
		t.idents = append(t.idents, flat(w))
	}
	for _, w := range subwords(s) {
		t.stems[stem(w)] = true
	}
	return t
}

// How well a term matches.
const (
	matchForm    = 0.95 // another form of the word
	matchMember  = 0.6  // the last part of a qualified name alone
	matchPart    = 0.5  // it stands inside of a longer name
	matchRelated = 0.35
	matchLeast   = 0.4 // below, it does not count as found
)

// match returns how well a term matches a text: from 0, not at all, to 1.
func (t *term) match(in *text) (best float64) {
	whole := strings.Contains(in.lower, strings.ToLower(t.text))
	switch {
	case whole && (t.stem != "" && in.stems[t.stem] || t.qualified):
		return 1
	case t.stem != "" && in.stems[t.stem]:
		return matchForm
	case t.pair != "" && !strings.Contains(flat(in.lower), t.pair):
		return 0
	case t.pair != "":
		best = matchMember
	}
	for _, id := range in.idents {
		switch {
		case id == t.ident && t.qualified:
			best = max(best, matchMember)
		case id != "" && id == t.ident, t.pair != "" && strings.HasPrefix(id, t.pair):
			return 1
		case len(t.ident) > 3 && strings.Contains(id, t.ident), len(t.stem) > 3 && strings.Contains(id, t.stem):
			best = max(best, matchPart)
		}
	}
	if best == 0 && slices.ContainsFunc(related[t.stem], func(o string) bool { return in.stems[o] }) {
		return matchRelated
	}
	return best
}

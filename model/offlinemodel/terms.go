package offlinemodel

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// term is something to look for in files.
type term struct {
	text    string // as in the prompt
	pattern string // RE2, regardless of case; may find more than match accepts
	match   *regexp.Regexp
	words   bool           // match is for single subwords, not for a whole line
	akin    *regexp.Regexp // matches subwords of much the same meaning; nil: none are known
	weak    bool           // counts where it stands, but is not worth a search
	weight  float64
}

// The base weights of terms, before their rarity is known.
const (
	weightPhrase     = 2.5
	weightQualified  = 2.2
	weightIdentifier = 2.0
	weightCompound   = 1.3
	weightWord       = 1.0
	weightVerb       = 0.8 // what is done to a thing is less telling than the thing
	weightFileName   = 0.8
	weightWeak       = 0.3
)

// add puts what a token stands for into the query.
func (q *query) add(t token, seen map[string]bool, factor float64) {
	s := t.text
	if strings.ContainsFunc(s, unicode.IsSpace) {
		q.addTerm(phraseTerm(s), seen, factor)
		for _, w := range promptTokens(strings.Map(noQuotes, s)) {
			q.addWord(w.text, seen, factor, true)
		}
		return
	}
	if p, ok := parsePath(s, t.quoted); ok {
		if !slices.ContainsFunc(q.paths, func(o pathRef) bool { return o.path == p.path }) {
			q.paths = append(q.paths, p)
		}
		if p.file {
			q.addTerm(fileNameTerm(p.path), seen, factor)
			return
		}
		for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '/' }) {
			if p.loose {
				q.add(token{text: w}, seen, factor)
			} else {
				q.addWord(w, seen, factor, true)
			}
		}
		return
	}
	s = strings.Trim(s, "-/~\\")
	switch {
	case isIdentifier(s) || t.quoted:
		q.addIdentifier(s, seen, factor)
	case strings.Contains(s, "-"):
		q.addCompound(s, seen, factor)
	default:
		for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '’' }) {
			q.addWord(w, seen, factor, false)
		}
	}
}

func noQuotes(r rune) rune {
	if strings.ContainsRune("`\"'“”«»", r) {
		return ' '
	}
	return r
}

func (q *query) addTerm(t term, seen map[string]bool, factor float64) {
	if t.pattern == "" || seen[t.pattern] {
		return
	}
	re, err := regexp.Compile("(?i)" + t.pattern)
	if t.words {
		re, err = regexp.Compile(wordMatch(t.pattern))
		t.pattern = searchPattern(t.pattern)
	}
	if err != nil || seen[t.pattern] {
		return // one word less to look for
	}
	seen[t.pattern] = true
	t.match = re
	t.weight *= factor
	q.terms = append(q.terms, t)
}

// addWord adds a plain word, unless it is a stop word.
func (q *query) addWord(w string, seen map[string]bool, factor float64, weak bool) {
	low := strings.ToLower(strings.Trim(w, "'’"))
	if stopWords[strings.NewReplacer("'", "", "’", "").Replace(low)] || strings.Contains(low, "n't") || strings.Contains(low, "n’t") {
		return
	}
	runes := []rune(low)
	switch {
	case len(runes) == 0:
		return
	case len(runes) == 1 && runes[0] < 0x2E80: // a single letter, unless it is a word by itself
		return
	case len(runes) == 2 && w != strings.ToUpper(w) && runes[0] < 0x2E80:
		return
	case strings.Trim(low, "0123456789") == "" && len(low) < 3:
		return
	}
	t := term{text: w, pattern: stem(low), words: true, weight: weightWord, weak: weak || weakWords[low]}
	switch {
	case t.weak:
		t.weight = weightWeak
	case !keptWords[low] && (strings.HasSuffix(low, "ed") || strings.HasSuffix(low, "ing")):
		t.weight = weightVerb
	}
	if akin := related[firstAlternative(t.pattern)]; akin != "" && !t.weak {
		t.akin = akinPattern(akin)
	}
	q.addTerm(t, seen, factor)
}

// akinPattern returns what matches a subword that is a form of one of words.
func akinPattern(words string) *regexp.Regexp {
	var alts []string
	for w := range strings.FieldsSeq(words) {
		alts = append(alts, group(wordMatch(stem(w))))
	}
	re, err := regexp.Compile(strings.Join(alts, "|"))
	if err != nil {
		return nil // cannot be: the words are our own
	}
	return re
}

func firstAlternative(stem string) string {
	first, _, _ := strings.Cut(stem, "|")
	return first
}

// addIdentifier adds an identifier, its last part if it is qualified, and its
// words as weak terms.
func (q *query) addIdentifier(s string, seen map[string]bool, factor float64) {
	s = strings.TrimSuffix(s, "()")
	parts := qualifiers.Split(s, -1)
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	if len(parts) == 0 {
		return
	}
	if len(parts) > 1 {
		quoted := make([]string, len(parts))
		for i, p := range parts {
			quoted[i] = regexp.QuoteMeta(p)
		}
		q.addTerm(term{text: s, pattern: strings.Join(quoted, `(?:\.|::|->|#|/)`), weight: weightQualified}, seen, factor)
		for _, p := range parts[:len(parts)-1] {
			q.addWord(p, seen, factor, true)
		}
	}
	last := parts[len(parts)-1]
	q.addTerm(identifierTerm(last, weightIdentifier), seen, factor)
	words := subwords(last)
	for _, w := range words {
		if len(words) > 1 {
			q.addWord(w, seen, factor, true)
		}
	}
}

// addCompound adds words that a hyphen joins, together and each by itself.
func (q *query) addCompound(s string, seen map[string]bool, factor float64) {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == '-' })
	if len(parts) > 1 && slices.ContainsFunc(parts, func(p string) bool { return !stopWords[strings.ToLower(p)] }) {
		q.addTerm(identifierTerm(s, weightCompound), seen, factor)
	}
	for _, p := range parts {
		q.addWord(p, seen, factor, false)
	}
}

var qualifiers = regexp.MustCompile(`\.|::|->|#|/`)

// identifierTerm finds an identifier however its words are joined: ParseYAML
// also as parse_yaml and parse-yaml.
func identifierTerm(s string, weight float64) term {
	words := subwords(s)
	if len(words) == 0 {
		return term{}
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = regexp.QuoteMeta(w)
	}
	pattern := strings.Join(quoted, "[_-]?")
	if len(words) == 1 {
		pattern = `\b` + pattern
		if len(words[0]) < minLoose {
			pattern += `\b`
		}
		if words[0][0] >= 0x80 { // \b knows ASCII alone
			pattern = quoted[0]
		}
	}
	return term{text: s, pattern: pattern, weight: weight}
}

func phraseTerm(s string) term {
	words := strings.Fields(s)
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
	}
	return term{text: s, pattern: strings.Join(words, `\s+`), weight: weightPhrase}
}

func fileNameTerm(p string) term {
	base := p[strings.LastIndex(p, "/")+1:]
	return term{text: base, pattern: regexp.QuoteMeta(base), weight: weightFileName}
}

// isIdentifier reports whether a token is the name of something in code, by
// the way it is written.
func isIdentifier(s string) bool {
	if strings.HasSuffix(s, "()") || strings.HasPrefix(s, "$") || strings.HasPrefix(s, "@") {
		return true
	}
	if s == "" || !startsName(s) || abbreviated[strings.ToLower(s)] {
		return false
	}
	lower, digit := false, false
	for i, r := range s {
		switch {
		case r == '_' || r == '#' || strings.HasPrefix(s[i:], "::") || strings.HasPrefix(s[i:], "->"):
			return true
		case r == '.':
			return true
		case unicode.IsUpper(r) && lower:
			return true
		case unicode.IsDigit(r):
			digit = true
		case unicode.IsLetter(r) && digit:
			return true
		}
		lower = unicode.IsLower(r)
	}
	return false
}

var abbreviated = wordSet("e.g i.e a.k.a e.g. i.e. vs. etc.")

func startsName(s string) bool {
	for _, r := range s {
		return unicode.IsLetter(r) || r == '_'
	}
	return false
}

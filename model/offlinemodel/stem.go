package offlinemodel

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// minLoose is the length from which on a stem may stand inside of a longer
// word, as agent does in subagent. Shorter ones would be found everywhere.
const minLoose = 5

// stem returns what the forms of an English word have in common, as a regular
// expression over its lower-case letters: deci[ds] for decided and decision.
// It is simpler than Porter's, and errs towards finding too little.
func stem(word string) string {
	w := strings.ToLower(word)
	if short, ok := shortForms[w]; ok {
		return short
	}
	if len(w) < 4 || !isASCIIWord(w) {
		return regexp.QuoteMeta(w)
	}
	w = singular(w)
	cutOff := ""
	for _, s := range suffixes {
		base, ok := strings.CutSuffix(w, s.text)
		if ok && !keptWords[w] && len(base) >= s.least && strings.ContainsAny(base, "aeiouy") {
			w, cutOff = base+s.becomes, s.text
			break
		}
	}
	if cutOff == "ing" || cutOff == "ed" || cutOff == "er" || cutOff == "or" {
		w = undouble(w)
	}
	if len(w) > 4 {
		w = strings.TrimSuffix(w, "e")
	}
	if short, ok := shortForms[w]; ok {
		return short
	}
	return alternate(w, cutOff)
}

// suffixes are tried in order; the first that leaves enough is taken off.
var suffixes = []struct {
	text    string
	least   int // how much has to be left
	becomes string
}{
	{"ification", 3, "ify"},
	{"ization", 4, "iz"},
	{"isation", 4, "is"},
	{"ation", 4, ""},
	{"ied", 3, "y"},
	{"ier", 4, "y"},
	{"ion", 5, ""},
	{"ment", 5, ""},
	{"ness", 4, ""},
	{"able", 4, ""},
	{"ible", 4, ""},
	{"ance", 5, ""},
	{"ence", 5, ""},
	{"val", 4, "v"},
	{"ing", 3, ""},
	{"ed", 3, ""},
	{"er", 4, ""},
	{"or", 4, ""},
	{"ly", 4, ""},
}

func singular(w string) string {
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "xes"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is") && len(w) > 3:
		return w[:len(w)-1]
	}
	return w
}

// undouble makes run of runn, and stop of stopp; roll, pass and buzz stay.
func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeiousz", rune(w[n-1])) && (w[n-1] != 'l' || n > 5) {
		return w[:n-1]
	}
	return w
}

// alternate writes the changes of a stem's last letter: policy and policies,
// decide and decision, permit and permission.
func alternate(w, cutOff string) string {
	n := len(w)
	switch {
	case strings.HasSuffix(w, "y") && n >= 4:
		return w[:n-1] + "[yi]"
	case strings.HasSuffix(w, "miss") && n >= 5:
		return w[:n-2] + "[st]"
	case strings.HasSuffix(w, "mit") && n >= 6:
		return w[:n-1] + "[st]"
	case n >= 5 && (strings.HasSuffix(w, "id") || strings.HasSuffix(w, "ud") || strings.HasSuffix(w, "nd")):
		return w[:n-1] + "[ds]"
	case n >= 5 && cutOff == "ion" && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss"):
		return w[:n-1] + "[ds]"
	}
	return w
}

func isASCIIWord(w string) bool {
	for _, r := range w {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) {
			return false
		}
	}
	return true
}

// searchPattern returns the regular expression, to be matched without regard
// to case, that finds lines with words of a stem. It may find too many. A
// short form has to begin a word, be it inside of an identifier.
func searchPattern(stem string) string {
	var alts []string
	for alt := range strings.SplitSeq(stem, "|") {
		if letters(alt) >= 4 || alt == "" || alt[0] >= utf8.RuneSelf {
			alts = append(alts, alt)
			continue
		}
		word, end := alt, ""
		if w, ok := strings.CutSuffix(alt, `\b`); ok {
			word, end = w, `\b`
		}
		if strings.Contains(word, `\`) { // quoted: no letters to write large
			alts = append(alts, alt)
			continue
		}
		upper := strings.ToUpper(word)
		alts = append(alts, `(?:\b|_)`+alt, `(?-i:[a-z0-9](?:`+upper[:1]+word[1:]+`|`+upper+`)`+end+`)`)
	}
	return strings.Join(alts, "|")
}

// wordMatch returns the pattern that a subword has to match to be of a stem.
func wordMatch(stem string) string {
	var alts []string
	for alt := range strings.SplitSeq(stem, "|") {
		if letters(alt) < minLoose {
			alt = `^(?:re|pre|sub|auto|multi)?` + alt
		}
		alts = append(alts, alt)
	}
	return strings.Join(alts, "|")
}

// letters returns about how many letters an alternative of a stem matches.
func letters(alt string) int {
	n := utf8.RuneCountInString(strings.ReplaceAll(alt, `\b`, ""))
	if i, j := strings.IndexByte(alt, '['), strings.IndexByte(alt, ']'); i >= 0 && j > i {
		n -= j - i
	}
	return n - 2*strings.Count(alt, "?")
}

func group(pattern string) string {
	if strings.Contains(pattern, "|") {
		return "(?:" + pattern + ")"
	}
	return pattern
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
		if start >= 0 && unicode.IsUpper(r) {
			prev := runes[i-1]
			next := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if !unicode.IsUpper(prev) || next {
				flush(i)
			}
		}
		if start < 0 {
			start = i
		}
	}
	flush(len(runes))
	return words
}

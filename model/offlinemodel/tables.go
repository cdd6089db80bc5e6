package offlinemodel

import (
	"cmp"
	"embed"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

//go:embed tables wordlists
var data embed.FS

// What the model knows of English, languages and files stands in tables. A table is read
// when it is asked for first, since most programs never ask.
var (
	patterns    = sync.OnceValue(readPatterns)
	kinds       = sync.OnceValue(func() []row { return readRows("kinds", "(?i)") })
	languages   = sync.OnceValue(func() []row { return readRows("languages", "(?i)") }) // families of a like syntax
	definitions = sync.OnceValue(func() []row { return readRows("definitions", "") })
)

// rows yields the lines of a table: the first word and what follows it.
func rows(table string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		text, _ := data.ReadFile("tables/" + table + ".txt") // it is embedded
		for l := range strings.Lines(string(text)) {
			key, rest, _ := strings.Cut(strings.TrimSuffix(l, "\n"), " ")
			if key != "" && key != "#" && !yield(key, rest) {
				return
			}
		}
	}
}

// wordSet returns the words of a list, each as key returns it.
func wordSet(list string, key func(string) string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		text, _ := data.ReadFile("wordlists/" + list + ".txt") // it is embedded
		set := map[string]bool{}
		for w := range strings.FieldsSeq(string(text)) {
			set[key(w)] = true
		}
		return set
	})
}

// compiled returns an expression that is compiled when it is asked for first.
func compiled(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

func readPatterns() map[string]*regexp.Regexp {
	out := map[string]*regexp.Regexp{}
	for name, pattern := range rows("patterns") {
		out[name] = regexp.MustCompile(pattern)
	}
	return out
}

// matches reports whether the pattern of that name matches s.
func matches(name, s string) bool { return patterns()[name].MatchString(s) }

// row is a line of a table of patterns.
type row struct {
	name  string
	share float64
	match *regexp.Regexp
}

func readRows(table, flags string) (out []row) {
	for name, rest := range rows(table) {
		number, pattern, _ := strings.Cut(rest, " ")
		share, _ := strconv.ParseFloat(number, 64) // the tests rank by it
		pattern = flags + strings.ReplaceAll(pattern, "{m}", patterns()["modifiers"].String())
		out = append(out, row{name, share, regexp.MustCompile(pattern)})
	}
	return out
}

// first returns the first row that matches s.
func first(table []row, s string) row {
	if i := slices.IndexFunc(table, func(r row) bool { return r.match.MatchString(s) }); i >= 0 {
		return table[i]
	}
	return row{}
}

// kindOf returns the kind of a file by its path alone, and what a hit in it is
// worth: private (tends to hold secrets), foreign (vendored, generated, locked,
// logged), test, sample, document, data, or source.
func kindOf(p string) (kind string, worth float64) {
	k := first(kinds(), p)
	return k.name, k.share
}

// language returns the family of a file's syntax; "" if it is unknown.
func language(file string) string { return first(languages(), file).name }

// defines returns the name that a line in a language defines, judged by that
// line alone, and its strength: 1 for a function, less for what holds no steps,
// or is often local, 0.6 at most for what has no body. "": it defines nothing.
func defines(lang, line string) (name string, strength float64) {
	text := lang == "md" || lang == "yaml" || lang == "ini"
	if lang == "data" || len(line) > 400 || !text && isComment(lang, line) {
		return "", 0
	}
	for _, row := range definitions() {
		if row.name != lang && (row.name != "*" || text) {
			continue
		}
		if m := row.match.FindStringSubmatch(line); m != nil && !matches("keyword", m[1]) && (row.name != "c" || !matches("keyword", line)) {
			return m[1], row.share
		}
	}
	return "", 0
}

// isComment reports whether a line is a comment, or looks like part of one.
func isComment(lang, line string) bool {
	return matches("comment", line) || !matches("hashless", lang) && matches("hash", line)
}

var (
	stopWords  = wordSet("stop", strings.Clone)     // they say nothing about what to look for
	weakWords  = wordSet("weak", strings.Clone)     // so common that they are looked for only where there is nothing better
	fileNames  = wordSet("names", strings.Clone)    // names of files that have no dot
	products   = wordSet("products", strings.Clone) // names that look like those of files
	topicStems = wordSet("topic", stem)             // they say no more than the topic of a prompt
	endings    = sync.OnceValue(readEndings)        // by what they are: plural, suffix
	same       = sync.OnceValue(readSame)           // for a word, the stem of the word that it is a form of: config for cfg
)

func readSame() map[string]string {
	out := map[string]string{}
	for first, rest := range rows("same") {
		for w := range strings.FieldsSeq(first + " " + rest) {
			out[w] = suffixless(first)
		}
	}
	return out
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
		least, _ := strconv.Atoi(fields[1]) // the tests of stems read the table
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
	short := suffixless(w)
	return cmp.Or(same()[w], same()[short], short)
}

func suffixless(w string) string {
	if len(w) < 4 || strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return w
	}
	w = without(w, endings()["plural"])
	short := without(w, endings()["suffix"])
	if n := len(short); short != w && n > 3 && short[n-1] == short[n-2] && !strings.Contains("aeiouszl", short[n-1:]) {
		short = short[:n-1] // running, run
	}
	if len(short) > 4 {
		short = strings.TrimSuffix(short, "e")
	}
	return short
}

// literal returns the beginning that all forms of a stem have.
func literal(stem string) string {
	if matches("ending", stem) {
		return stem[:len(stem)-1]
	}
	return stem
}

// subwords splits text into the lower-case words that it and its identifiers
// consist of: parse, yaml and file for ParseYAML_file.
func subwords(text string) []string {
	text = humps().ReplaceAllString(acronyms().ReplaceAllString(text, "$1 $2"), "$1 $2")
	return strings.FieldsFunc(strings.ToLower(text), isSeparator)
}

var (
	acronyms = compiled(`(\p{Lu})(\p{Lu}\p{Ll})`)
	humps    = compiled(`([\p{Ll}\p{N}])(\p{Lu})`)
)

func isSeparator(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// flat returns the letters and digits of a name, in lower case.
func flat(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), isSeparator), "")
}

// How well a term matches.
const (
	matchForm   = 0.95 // another form of the word
	matchMember = 0.6  // the last part of a qualified name alone
	matchPart   = 0.5  // it stands inside of a longer name
)

// matched is how well each term matches something.
type matched []float64

// match matches terms against a line, or a name: from 0, not at all, to 1.
func match(terms []term, line string) matched {
	lower, out := strings.ToLower(line), make(matched, len(terms))
	var idents, stems []string
	for w := range strings.FieldsFuncSeq(lower, func(r rune) bool { return isSeparator(r) && r != '_' && r != '-' }) {
		idents = append(idents, flat(w))
	}
	for _, w := range subwords(line) {
		stems = append(stems, stem(w))
	}
	for i, t := range terms {
		found := !t.exact && slices.Contains(stems, t.name) || t.exact && slices.Contains(idents, t.name)
		switch {
		case found && strings.Contains(lower, strings.ToLower(t.text)):
			out[i] = 1
		case found && t.exact:
			out[i] = matchMember
		case found:
			out[i] = matchForm
		case len(t.name) > 3 && slices.ContainsFunc(idents, func(id string) bool { return strings.Contains(id, t.name) }):
			out[i] = matchPart
		}
	}
	return out
}

func (m matched) sum() (s float64) {
	for _, x := range m {
		s += x
	}
	return s
}

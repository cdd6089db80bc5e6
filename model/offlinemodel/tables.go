package offlinemodel

import (
	"embed"
	"iter"
	"path"
	"regexp"
	"strconv"
	"strings"
)

//go:embed tables wordlists
var data embed.FS

// What the model knows of English, languages and files stands in tables.
var (
	patterns    = readPatterns()
	kinds       = readRows("kinds", "(?i)")
	definitions = readRows("definitions", "")
	languages   = map[string]string{} // by the ends of file names: families of a like syntax
)

func init() {
	for family, ends := range rows("languages") {
		for end := range strings.FieldsSeq(ends) {
			languages[end] = family
		}
	}
}

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

// wordLines returns the lines of a word list.
func wordLines(list string) (out [][]string) {
	text, _ := data.ReadFile("wordlists/" + list + ".txt") // it is embedded
	for l := range strings.Lines(string(text)) {
		out = append(out, strings.Fields(l))
	}
	return out
}

// wordSet returns the words of a list, each as key returns it.
func wordSet(list string, key func(string) string) map[string]bool {
	set := map[string]bool{}
	for _, words := range wordLines(list) {
		for _, w := range words {
			set[key(w)] = true
		}
	}
	return set
}

func readPatterns() map[string]*regexp.Regexp {
	out := map[string]*regexp.Regexp{}
	for name, pattern := range rows("patterns") {
		out[name] = regexp.MustCompile(pattern)
	}
	return out
}

// matches reports whether the pattern of that name matches s.
func matches(name, s string) bool { return patterns[name].MatchString(s) }

// row is a line of the tables of kinds and definitions.
type row struct {
	name  string
	share float64
	dash  bool // behind share
	match *regexp.Regexp
}

func readRows(table, flags string) (out []row) {
	for name, rest := range rows(table) {
		number, pattern, _ := strings.Cut(rest, " ")
		share, dash := strings.CutSuffix(number, "-")
		r := row{name: name, dash: dash}
		r.share, _ = strconv.ParseFloat(share, 64) // the tests rank by it
		r.match = regexp.MustCompile(flags + strings.ReplaceAll(pattern, "{m}", patterns["modifiers"].String()))
		out = append(out, r)
	}
	return out
}

// kindOf returns the kind of a file by its path alone, and what a hit in it is
// worth: private (tends to hold secrets), foreign (vendored, generated, locked,
// logged), test, sample, document, data, or source.
func kindOf(p string) (kind string, worth float64) {
	for _, k := range kinds {
		if k.match.MatchString(p) {
			return k.name, k.share
		}
	}
	return "source", 1
}

// language returns the family of a file's syntax; "" if it is unknown.
func language(file string) string {
	if strings.EqualFold(path.Base(file), "makefile") {
		return "yaml"
	}
	return languages[extension(file)]
}

func extension(file string) string {
	return strings.ToLower(strings.TrimPrefix(path.Ext(file), "."))
}

// definition is what a line defines, judged by that line alone.
type definition struct {
	name     string
	strength float64 // 1: a function; less for what holds no steps, or is often local
	body     bool    // what follows belongs to it
}

// defines returns what a line of a file defines. ok is false if nothing.
func defines(file, line string) (d definition, ok bool) {
	lang := language(file)
	text := lang == "md" || lang == "yaml" || lang == "ini"
	if lang == "data" || len(line) > 400 || !text && isComment(file, line) {
		return definition{}, false
	}
	for _, row := range definitions {
		if row.name != lang && (row.name != "*" || text) {
			continue
		}
		if m := row.match.FindStringSubmatch(line); m != nil && !matches("keyword", m[1]) && (row.name != "c" || !matches("keyword", line)) {
			return definition{m[1], row.share, !row.dash}, true
		}
	}
	return definition{}, false
}

// isComment reports whether a line is a comment, or looks like part of one.
func isComment(file, line string) bool {
	switch language(file) {
	case "c", "js", "md", "go", "rs", "data":
		return matches("comment", line)
	}
	return matches("comment", line) || matches("hash", line)
}

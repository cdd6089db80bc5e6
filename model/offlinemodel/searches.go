package offlinemodel

import (
	"regexp"
	"slices"
	"strings"
)

// read returns a call that reads around a line; 0: from the start, all that
// one result holds.
func (r *researcher) read(path string, line int) call {
	c := call{"read_file", arguments{Path: path}}
	if line > readAbove+1 && r.tools.takes("read_file", "offset") {
		c.args.Offset = line - readAbove
	}
	if line > 0 && r.tools.takes("read_file", "limit") {
		c.args.Limit = readLines
	}
	return c
}

// grep returns a call that searches regardless of case.
func (r *researcher) grep(pattern string, limit int) call {
	c := call{"grep", arguments{Pattern: pattern}}
	if r.tools.takes("grep", "ignoreCase") {
		c.args.IgnoreCase = true
	} else {
		c.args.Pattern = "(?i)" + pattern
	}
	if r.tools.takes("grep", "limit") {
		c.args.Limit = limit
	}
	return c
}

func globFor(pattern string) call { return call{"glob", arguments{Pattern: pattern}} }

// definitionPattern finds lines that seem to define something by the name of a
// term.
func definitionPattern(terms []term) string {
	var names []string
	for _, t := range terms {
		if !strings.Contains(t.pattern, `\s`) {
			names = append(names, unbound(t.pattern))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return within(`\b(?:func|function|type|class|def|defn?|fn|fun|struct|interface|enum|trait|impl|const|module|object|record|sub|define)\b[^=]*(?:` +
		strings.Join(names, "|") + ")")
}

// pairPattern finds lines that hold two of the terms, one of them strong.
func pairPattern(terms []term) string {
	var pairs []string
	for i, a := range terms {
		for j, b := range terms {
			if i != j && !(a.weak && b.weak) && !strings.Contains(a.pattern, b.pattern) && !strings.Contains(b.pattern, a.pattern) {
				pairs = append(pairs, group(a.pattern)+".*"+group(b.pattern))
			}
		}
	}
	return within(strings.Join(pairs, "|"))
}

func within(pattern string) string {
	if len(pattern) > maxPattern {
		return ""
	}
	return pattern
}

// namePattern finds files whose names hold one of the terms.
func namePattern(terms []term) string {
	var alts []string
	for _, t := range terms {
		for _, w := range subwords(t.text) {
			word := []rune(literalStart(stem(w)))
			if len(word) < 3 || len(alts) == maxStrong || strings.ContainsAny(string(word), `\?[]{}`) {
				continue
			}
			first := string(word[0])
			if upper := strings.ToUpper(first); upper != first {
				first = "[" + first + upper + "]"
			}
			if alt := first + string(word[1:]); !slices.Contains(alts, alt) {
				alts = append(alts, alt)
			}
		}
	}
	switch len(alts) {
	case 0:
		return ""
	case 1:
		return "**/*" + alts[0] + "*"
	}
	return "**/*{" + strings.Join(alts, ",") + "}*"
}

// literalStart returns a pattern of stem up to its first choice.
func literalStart(stem string) string {
	if i := strings.IndexAny(stem, "[|"); i >= 0 {
		return stem[:i]
	}
	return stem
}

// globQuote returns a glob that matches s alone.
func globQuote(s string) string {
	return globSpecial.ReplaceAllString(s, `[$0]`)
}

var globSpecial = regexp.MustCompile(`[*?{\[]`)

// unbound returns a pattern without the word boundaries in it. One with quoted
// backslashes stays as it is: behind such a one a b is a b.
func unbound(pattern string) string {
	if strings.Contains(pattern, `\\`) {
		return pattern
	}
	return strings.ReplaceAll(strings.ReplaceAll(pattern, `(?:\b|_)`, ""), `\b`, "")
}

package offlinemodel

import (
	"regexp"
	"slices"
	"strings"
)

// query is what a prompt asks for.
type query struct {
	terms []term
	paths []pathRef
	asked string // the prompt, as flat makes it; empty: it is too short to recognise
	usage bool   // asks for uses rather than for a definition
	tests bool   // asks for tests
	docs  bool   // asks for documents
}

// pathRef is a path that the prompt names.
type pathRef struct {
	path  string
	line  int  // 0: none
	file  bool // looks like a file; else it may be a folder, or no path at all
	loose bool // words with a slash between them, such as read/write
}

// Bounds of what is made of a prompt.
const (
	maxPromptBytes = 6000
	maxTerms       = 24
	maxStrong      = 8 // terms that are searched for
	maxPaths       = 4
)

var (
	usageAsked = regexp.MustCompile(`(?i)\b(usages?|uses of|users of|call(er|s)?(\s+(sites?|to|of))|callers|references?|referenced|who (calls|uses)|what (calls|uses)|(is|are)\b.{1,60}\b(used|called|referenced|invoked))\b`)
	testsAsked = regexp.MustCompile(`(?i)\b(tests?|tested|testing)\b`)
	docsAsked  = regexp.MustCompile(`(?i)\b(docs?|documented|documentation|readme|changelog)\b`)
)

// parseQuery makes a query of a prompt. Where the prompt names little of its
// own, as "and its tests?" does, the terms of the earlier prompt count too.
func parseQuery(prompt, earlier string) query {
	q := query{
		usage: usageAsked.MatchString(prompt),
		tests: testsAsked.MatchString(prompt),
		docs:  docsAsked.MatchString(prompt),
	}
	if words := subwords(cut(prompt, maxPromptBytes)); len(words) > 3 {
		q.asked = strings.Join(words, " ")
	}
	seen := map[string]bool{}
	for _, t := range promptTokens(prompt) {
		q.add(t, seen, 1)
	}
	if earlier != "" && len(q.paths) == 0 && len(q.strong()) < 2 {
		for _, t := range promptTokens(earlier) {
			q.add(t, seen, 0.5)
		}
	}
	q.limit()
	return q
}

// strong returns the terms that are worth a search.
func (q *query) strong() []term {
	var out []term
	for _, t := range q.terms {
		if !t.weak {
			out = append(out, t)
		}
	}
	return out
}

// limit keeps the weightiest terms of a long prompt, in the prompt's order,
// and makes up for a prompt that has weak ones alone.
func (q *query) limit() {
	q.paths = q.paths[:min(len(q.paths), maxPaths)]
	keep := slices.Clone(q.terms)
	slices.SortStableFunc(keep, func(a, b term) int {
		switch {
		case a.weight > b.weight:
			return -1
		case a.weight < b.weight:
			return 1
		}
		return 0
	})
	if len(keep) > maxTerms {
		least := keep[maxTerms-1].weight
		q.terms = slices.DeleteFunc(q.terms, func(t term) bool { return t.weight < least })
		q.terms = q.terms[:min(len(q.terms), maxTerms)]
	}
	if len(q.strong()) > maxStrong {
		var strong []term
		for _, t := range keep {
			if !t.weak {
				strong = append(strong, t)
			}
		}
		kept := map[string]bool{}
		for _, t := range strong[:maxStrong] {
			kept[t.pattern] = true
		}
		for i := range q.terms {
			q.terms[i].weak = q.terms[i].weak || !kept[q.terms[i].pattern]
		}
	}
}

// token is a piece of a prompt.
type token struct {
	text   string
	quoted bool
}

var (
	quotedText = regexp.MustCompile("`([^`\n]{1,200})`" + `|"([^"\n]{1,200})"|“([^”\n]{1,200})”|«([^»\n]{1,200})»|(?:^|[\s(])'([^'\n]{2,100})'`)
	urls       = regexp.MustCompile(`\b[a-zA-Z][a-zA-Z+.-]*://\S+`)
	rawToken   = regexp.MustCompile(`[\p{L}\p{M}\p{N}_$@~./\\:#’'+-]+(?:\(\))?`)
)

// promptTokens splits a prompt: what is quoted comes first, then the rest in order.
func promptTokens(prompt string) []token {
	prompt = strings.ToValidUTF8(cut(prompt, maxPromptBytes), " ")
	prompt = urls.ReplaceAllString(prompt, " ")
	var out []token
	for _, m := range quotedText.FindAllStringSubmatch(prompt, -1) {
		if s := strings.TrimSpace(strings.Join(m[1:], "")); s != "" {
			out = append(out, token{s, true})
		}
	}
	prompt = quotedText.ReplaceAllString(prompt, " ")
	for _, s := range rawToken.FindAllString(prompt, -1) {
		s = strings.TrimRight(s, `.:-’'\+#`+"@")
		s = strings.TrimLeft(s, `’':+\`)
		s = strings.TrimSuffix(strings.TrimSuffix(s, "'s"), "’s")
		if s != "" {
			out = append(out, token{s, false})
		}
	}
	return out
}

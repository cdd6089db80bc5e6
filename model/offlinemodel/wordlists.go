package offlinemodel

import (
	_ "embed" // the word lists
	"strings"
)

var (
	//go:embed wordlists/stop.txt
	stopList string
	//go:embed wordlists/weak.txt
	weakList string
	//go:embed wordlists/whole.txt
	wholeList string
	//go:embed wordlists/keep.txt
	keepList string
	//go:embed wordlists/short.txt
	shortList string
	//go:embed wordlists/related.txt
	relatedList string
)

var (
	// stopWords say nothing about what to look for: the words that questions
	// are made of, and those that ask for an answer.
	stopWords = wordSet(stopList)

	// weakWords are so common in code and in questions on code that they are
	// looked for only where there is nothing better. They still count on a line.
	weakWords = wordSet(weakList)

	// wholeWords mean the repository as a whole: a question with no others asks
	// for an overview.
	wholeWords = wordSet(wholeList)

	// keptWords look as if they ended in a suffix.
	keptWords = wordSet(keepList)

	// shortForms are the stems that stand for another stem: the short forms
	// that code prefers to a word. A \b keeps one from being the beginning of
	// another word.
	shortForms = wordTable(shortList)

	// related are words that code may use for the same thing, by the first
	// alternative of a stem. They are not searched for, but count where they
	// stand.
	related = wordTable(relatedList)
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// wordTable reads lines of a key, a blank and its value.
func wordTable(lines string) map[string]string {
	table := map[string]string{}
	for l := range strings.Lines(lines) {
		if key, value, ok := strings.Cut(strings.TrimSpace(l), " "); ok {
			table[key] = value
		}
	}
	return table
}

package main

import (
	"io"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
)

// Bounds of what a person is shown of one call.
const (
	maxShownText  = 4000 // characters of one text
	maxShownTexts = 60
)

// visibleList is [termtext.Visible] for several texts in one line.
func visibleList(texts []string, limit int) string {
	line, _ := termtext.Visible(strings.Join(texts, ", "), limit)
	return line
}

// list prints each text in a line of its own. It reports false where not all
// of it is shown.
func list(w io.Writer, texts []string) (whole bool) {
	return termtext.VisibleLines(w, texts, maxShownText, maxShownTexts)
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session"
)

// Bounds of what a person is shown of one call.
const (
	maxShownText  = 4000 // characters of one text
	maxShownTexts = 60
	maxShownLine  = 32_000 // characters of a command line
	shownWidth    = 100    // of them in a row
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

// showWants prints what a call wants: the whole line of a shell, wrapped, and
// what rules see of it. It reports false where not all of it is shown.
func showWants(w io.Writer, req *session.ApprovalRequest) (whole bool) {
	var args struct{ Command string }
	if req.Tool != "shell_exec" || json.Unmarshal([]byte(req.Arguments), &args) != nil || len(req.Patterns) == 1 && req.Patterns[0] == args.Command {
		return list(w, req.Patterns)
	}
	line, whole := termtext.Visible(args.Command, maxShownLine)
	for row := []rune(line); len(row) > 0; row = row[min(shownWidth, len(row)):] {
		fmt.Fprintf(w, "    %s\n", string(row[:min(shownWidth, len(row))]))
	}
	fmt.Fprintln(w, "  of which rules see")
	return list(w, req.Patterns) && whole
}

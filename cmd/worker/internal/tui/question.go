package tui

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/session/approval"
)

// maxShownTexts bounds the texts of one call that a person is shown.
const maxShownTexts = 60

// QuestionWidth is how many characters of a command line are in a row, if nothing else
// limits it.
const QuestionWidth = 100

// Texts is [termtext.Visible] for several texts in one line.
func Texts(texts []string, limit int) string {
	line, _ := termtext.Visible(strings.Join(texts, ", "), limit)
	return line
}

// WriteQuestion writes which call waits and why, and what "always" would allow, so that
// nothing of it hides. A command line is in rows of so many characters. It reports whether
// "always" may be offered: there is such a rule, and all of it is shown.
func WriteQuestion(w io.Writer, a *approval.Approval, width int) (always bool) {
	fmt.Fprintf(w, "%s asks to call %s, which wants\n", termtext.OneLine(a.Agent, termtext.MaxName), termtext.OneLine(a.Tool, termtext.MaxName))
	all := writeWants(w, a, width)
	reason, _ := termtext.Visible(a.Reason, termtext.MaxText)
	fmt.Fprintf(w, "  %s\n", reason)
	if !all || len(a.AlwaysPatterns) == 0 {
		return false
	}
	fmt.Fprintln(w, "  always would allow")
	return writeTexts(w, a.AlwaysPatterns)
}

// ParseAnswer reads an answer: y, a or n, and after n the reason.
func ParseAnswer(line string) (approval.Answer, bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch strings.ToLower(word) {
	case "y", "yes":
		return approval.Answer{Verdict: approval.ApproveOnce}, true
	case "a", "always":
		return approval.Answer{Verdict: approval.ApproveAlways}, true
	case "n", "no":
		return approval.Answer{Verdict: approval.DenyCall, Feedback: strings.TrimSpace(rest)}, true
	default:
		return approval.Answer{}, false
	}
}

// Choices is the prompt that lists what may be typed.
func Choices(always bool) string {
	if always {
		return "[y] yes, this time   [a] always   [n REASON] no > "
	}
	return "[y] yes, this time   [n REASON] no > "
}

// writeTexts prints each text in a line of its own. It reports whether all of them are
// shown.
func writeTexts(w io.Writer, texts []string) (all bool) {
	return termtext.VisibleLines(w, texts, termtext.MaxQuestion, maxShownTexts)
}

// writeWants prints what a call wants: a shell's complete line, wrapped, and its parts that
// rules see. It reports whether all of it is shown.
func writeWants(w io.Writer, a *approval.Approval, width int) (all bool) {
	var args struct{ Command, Plan string }
	if a.Tool == toolcatalog.PlanExit && json.Unmarshal([]byte(a.Arguments), &args) == nil {
		all = writeTexts(w, strings.Split(strings.TrimSpace(args.Plan), "\n"))
		fmt.Fprintln(w, "  which is to be carried out by the agent")
		return writeTexts(w, a.Patterns) && all
	}
	if a.Tool != toolcatalog.ShellExec || json.Unmarshal([]byte(a.Arguments), &args) != nil || len(a.Patterns) == 1 && a.Patterns[0] == args.Command {
		return writeTexts(w, a.Patterns)
	}
	line, all := termtext.Visible(args.Command, termtext.MaxCard)
	for row := []rune(line); len(row) > 0; row = row[min(width, len(row)):] {
		fmt.Fprintf(w, "    %s\n", string(row[:min(width, len(row))]))
	}
	fmt.Fprintln(w, "  of which rules see")
	return writeTexts(w, a.Patterns) && all
}

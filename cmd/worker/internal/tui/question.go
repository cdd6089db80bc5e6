package tui

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/question"
)

// QuestionWidth is how many columns a question has, if nothing else limits it.
const QuestionWidth = 78

// Texts is [termtext.Visible] for several texts in one line.
func Texts(texts []string, limit int) string {
	line, _ := termtext.Visible(strings.Join(texts, ", "), limit)
	return line
}

// WriteQuestion writes a call that waits as a door shows it, in lines of width columns; 0
// breaks none. It reports whether "always" may be offered, and whether all of the call is shown.
func WriteQuestion(w io.Writer, a *approval.Approval, door question.Door, width int) (always, whole bool) {
	v := question.New(a, door)
	for _, line := range v.Lines() {
		if width > 0 {
			line = strings.Join(terminal.Lines(line, width), "\n")
		}
		fmt.Fprintln(w, line)
	}
	return len(v.Always) > 0, v.LeftOut == ""
}

// The keys of a question, the same at every door.
const (
	keyOnce   = "y"
	keyAlways = "A"
	keyDeny   = "n"
	keyView   = "v"
)

// Reply is what was typed to a question.
type Reply struct {
	approval.Answer
	View bool // show all of it, and ask again
}

// ParseReply reads what was typed: y, A, v or n, and after n the reason. Words mean the same:
// yes, always, view, no.
func ParseReply(line string) (r Reply, ok bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch {
	case word == keyAlways, strings.EqualFold(word, "always"):
		r.Verdict = approval.ApproveAlways
	case strings.EqualFold(word, keyOnce), strings.EqualFold(word, "yes"):
		r.Verdict = approval.ApproveOnce
	case strings.EqualFold(word, keyDeny), strings.EqualFold(word, "no"):
		r.Feedback = strings.TrimSpace(rest)
	case strings.EqualFold(word, keyView), strings.EqualFold(word, "view"):
		r.View = true
	default:
		return r, false
	}
	return r, true
}

// Choices lists what may be typed: view unless all of the call is shown.
func Choices(always, whole bool) string {
	choices := "[y] yes, this time   "
	if always {
		choices += "[A] always   "
	}
	choices += "[n REASON] no   "
	if !whole {
		choices += "[v] view all   "
	}
	return strings.TrimRight(choices, " ") + " > "
}

package tui

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/question"
)

// QuestionWidth is how many columns a question has, if nothing else limits it.
const QuestionWidth = 78

// WriteQuestion writes a call that waits as a door shows it, in lines of width columns; 0
// breaks none. It reports whether "always" may be offered, and whether all of the call is shown.
func WriteQuestion(w io.Writer, a *approval.Approval, door question.Door, width int) (always, whole bool) {
	if a.Ask != nil { // an agent's words don't begin a line of the terminal
		door, width = question.Whole, cmp.Or(width, QuestionWidth)
	}
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

// keySkip declines to answer a question.
const keySkip = "/skip"

// ReadReply reads an answer that was typed. always allows to add a rule. Without whole, there is
// more to view. An error says what may be typed.
func ReadReply(a *approval.Approval, line string, always, whole bool) (Reply, error) {
	if a.Ask == nil {
		r, ok := ParseReply(line)
		if !ok || r.Verdict == approval.ApproveAlways && !always {
			return r, errors.New("type " + Choices(a, always, whole))
		}
		return r, nil
	}
	if word, rest, _ := strings.Cut(strings.TrimSpace(line), " "); word == keySkip {
		return Reply{Answer: approval.Answer{Feedback: strings.TrimSpace(rest)}}, nil
	}
	answers, err := question.ReadAnswer(a.Ask, line)
	r := Reply{Answer: approval.Answer{Verdict: approval.AnswerAsk, Answers: answers}}
	if err == nil {
		err = a.Check(r.Answer)
	}
	return r, err
}

// askChoices lists what may be typed to a question of an agent.
func askChoices(ask *event.Ask) string {
	choices := "your answer"
	switch n := len(ask.Options); {
	case n > 0 && ask.Multiple:
		choices = fmt.Sprintf("[1-%d, …] your answers", n)
	case n > 0:
		choices = fmt.Sprintf("[1-%d] your answer", n)
	}
	if ask.Default != "" {
		choices += "   [enter] what holds without one"
	}
	return choices + "   [" + keySkip + " WHY] no answer > "
}

// Choices lists what may be typed: view unless all of the call is shown.
func Choices(a *approval.Approval, always, whole bool) string {
	if a.Ask != nil {
		return askChoices(a.Ask)
	}
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

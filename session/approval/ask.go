package approval

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/termtext"
)

// MaxAnswer bounds the text of an answer to a question, in bytes.
const MaxAnswer = 32 << 10

// QuestionPrefix begins the ids of questions that agents ask.
const QuestionPrefix = "qst"

// IsQuestion reports whether an id names a question of an agent.
func IsQuestion(id string) bool { return strings.HasPrefix(id, QuestionPrefix+"_") }

// Gone returns what is known of an approval, or of a question, that is not kept any more.
func Gone(id string) *Approval {
	a := &Approval{ID: id}
	if IsQuestion(id) {
		a.Ask = &event.Ask{}
	}
	return a
}

// WrongAnswerError says why an answer does not fit, and which would. The question, or the call,
// still waits.
type WrongAnswerError struct{ Why string }

func (e *WrongAnswerError) Error() string { return e.Why }

func wrong(format string, args ...any) error { return &WrongAnswerError{fmt.Sprintf(format, args...)} }

// Check returns a [*WrongAnswerError] unless the answer fits the approval.
func (a *Approval) Check(answer Answer) error {
	switch {
	case a.Ask == nil && answer.Verdict == AnswerAsk:
		return wrong("%s is a call that waits for permission, and no question: approve or deny it", a.ID)
	case a.Ask != nil && (answer.Verdict == ApproveOnce || answer.Verdict == ApproveAlways):
		return wrong("%s is a question, which nobody can approve: answer it, such as with 'worker approvals answer %[1]s ANSWER', or decline it", a.ID)
	case a.Ask != nil && answer.Verdict == AnswerAsk:
		return checkAnswers(a.Ask, answer.Answers)
	}
	return nil
}

// kept is what is stored of an answer to a question, and what its agent gets. A key that
// somebody has typed in spite of all is masked.
func (a *Approval) kept(answer Answer, outcome event.ApprovalOutcome) []string {
	switch {
	case outcome == event.Expired && a.Ask.Default != "":
		return []string{a.Ask.Default}
	case outcome != event.Answered:
		return nil
	case len(a.Ask.Options) > 0:
		return answer.Answers
	}
	return []string{secrets.Mask(answer.Answers[0])}
}

func checkAnswers(ask *event.Ask, answers []string) error {
	switch {
	case len(answers) == 0:
		return wrong("there is no answer")
	case len(answers) > 1 && !ask.Multiple:
		return wrong("there are %d answers: the question takes one", len(answers))
	case len(ask.Options) == 0:
		return checkText(answers[0])
	}
	for i, answer := range answers {
		switch {
		case !slices.Contains(ask.Options, answer):
			return wrong("%q is none of the options; they are: %s", termtext.OneLine(answer, termtext.MaxTitle), quoted(ask.Options))
		case slices.Contains(answers[:i], answer):
			return wrong("%q is chosen twice", answer)
		}
	}
	return nil
}

func checkText(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return wrong("the answer is empty")
	case len(text) > MaxAnswer:
		return wrong("the answer has %d bytes: it may have %d", len(text), MaxAnswer)
	case !utf8.ValidString(text):
		return wrong("the answer is not UTF-8")
	}
	return nil
}

func quoted(options []string) string {
	texts := make([]string, len(options))
	for i, option := range options {
		texts[i] = fmt.Sprintf("%q", option)
	}
	return strings.Join(texts, ", ")
}

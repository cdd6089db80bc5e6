package event

import (
	"strconv"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/termtext"
)

// Ask is a question of an agent to a person. Its texts are the agent's words.
type Ask struct {
	Question string   `json:"question"`
	Options  []string `json:"options,omitempty"`  // the answers to choose from; none means that the answer is a text
	Multiple bool     `json:"multiple,omitempty"` // several options may be chosen
	Default  string   `json:"default,omitempty"`  // the answer where nobody gives one in time; empty means there is none
}

// Summary is the question in one line, for people.
func (a Ask) Summary() string {
	line, _ := termtext.Visible(strings.Join(strings.Fields(a.Question), " "), termtext.MaxLabel)
	return line
}

// Shown is the question in the form in which calls that wait are shown.
func (a Ask) Shown() Question {
	q := Question{Title: "answer " + strconv.Quote(a.Summary()), Parts: []QuestionPart{{Name: "question", Form: FormText, Text: a.Question}}}
	if len(a.Options) > 0 {
		q.Parts = append(q.Parts, QuestionPart{Name: "options", Form: FormText, Text: strings.Join(a.Options, "\n")})
	}
	return q
}

func (a Ask) masked(m *masker) Ask {
	a.Question, a.Default = m.text(a.Question), m.text(a.Default)
	a.Options = each(a.Options, m.text)
	return a
}

// Masked returns the question without anything that looks like a credential.
func (a Ask) Masked() Ask {
	var m masker
	return a.masked(&m)
}

// QuestionAsked reports that an agent waits for a person's answer to a question of its own.
// After a takeover it may come again, with the same id.
type QuestionAsked struct {
	QuestionID string `json:"questionId"`
	ToolCallID string `json:"toolCallId"`
	SessionID  string `json:"sessionId"`
	Path       Path   `json:"path"` // from the root down to the session that asks
	Ask

	// ExpiresAt is when the default holds, or the agent is told that no answer came.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`

	// Where is where somebody is connected who may answer, such as "worker top"; empty means
	// that is not known.
	Where string `json:"where,omitempty"`
}

// QuestionAnswered ends a [QuestionAsked].
type QuestionAnswered struct {
	QuestionID string          `json:"questionId"`
	Outcome    ApprovalOutcome `json:"outcome"` // answered, declined, cancelled, expired

	// Answers are the chosen options, or the text. With the outcome expired it is the default.
	// Empty means that there is no answer.
	Answers []string `json:"answers,omitempty"`

	Feedback string `json:"feedback,omitempty"` // with declined: what the agent is told
	By       string `json:"by,omitempty"`       // who has answered, for people
}

func (e QuestionAsked) Masked() (Event, bool) {
	var m masker
	e.Ask, e.Where = e.Ask.masked(&m), m.text(e.Where)
	return result(&m, e)
}

func (e QuestionAnswered) Masked() (Event, bool) {
	var m masker
	e.Answers, e.Feedback, e.By = each(e.Answers, m.text), m.text(e.Feedback), m.text(e.By)
	return result(&m, e)
}

package approval

import (
	"errors"
	"fmt"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/record"
)

// Approval is the stored form of a tool call that waits for an answer or has one. Its JSON
// is camelCase. With Ask it is a question that the agent itself asks: nothing is approved.
type Approval struct {
	Schema         int        `json:"schema"`
	ID             string     `json:"id"`
	SessionID      string     `json:"sessionId"`
	Path           event.Path `json:"path"` // from the root down to the session
	Agent          string     `json:"agent,omitempty"`
	ToolCallID     string     `json:"toolCallId"`
	Tool           string     `json:"tool"`
	Arguments      string     `json:"arguments"`      // JSON, as the model wrote it
	Patterns       []string   `json:"patterns"`       // what the call needs, as rules see it
	AlwaysPatterns []string   `json:"alwaysPatterns"` // what "always" would allow from now on
	Reason         string     `json:"reason"`         // why somebody is asked

	// Question is what the tool says of the call, for people.
	Question event.Question `json:"question"`

	// Ask is what the agent asks. nil means that permission for the call is asked for.
	Ask *event.Ask `json:"ask,omitempty"`

	// AskedBy has the people who have asked for the work.
	AskedBy []record.Person `json:"askedBy,omitempty"`

	// Where is the place of somebody who may answer, such as "worker top". Empty means that
	// somebody sits at the process.
	Where string `json:"where,omitempty"`

	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"` // without an answer by then, the call is denied, or the default of Ask holds

	// SecondPerson says why not everybody may approve the call; nil means everybody may.
	SecondPerson *SecondPerson `json:"secondPerson,omitempty"`

	// The answer. Outcome is empty until somebody answers.
	Outcome    event.ApprovalOutcome `json:"outcome,omitempty"`
	Always     bool                  `json:"always,omitempty"`
	Answers    []string              `json:"answers,omitempty"`  // to Ask
	Feedback   string                `json:"feedback,omitempty"` // what the model is told
	AnsweredBy string                `json:"answeredBy,omitempty"`
	AnsweredAs record.Person         `json:"answeredAs,omitempty"` // the person who answered; empty means unknown
	AnsweredAt time.Time             `json:"answeredAt,omitzero"`
}

// Pending reports whether the call still waits.
func (a *Approval) Pending() bool { return a.Outcome == "" }

// Event returns the event that announces the approval.
func (a *Approval) Event() event.Event {
	if a.Ask != nil {
		return event.QuestionAsked{
			QuestionID: a.ID, ToolCallID: a.ToolCallID, SessionID: a.SessionID, Path: a.Path, Ask: *a.Ask, ExpiresAt: a.ExpiresAt, Where: a.Where,
		}
	}
	return a.Required()
}

// Required returns the event of a call that waits for permission. Of a question it has what
// such an event can say.
func (a *Approval) Required() event.ToolApprovalRequired {
	return event.ToolApprovalRequired{
		ApprovalID: a.ID, ToolCallID: a.ToolCallID, ToolName: a.Tool, Arguments: a.Arguments, SessionID: a.SessionID,
		Patterns: a.Patterns, AlwaysPatterns: a.AlwaysPatterns, Question: a.Question, ExpiresAt: a.ExpiresAt, SecondPerson: a.SecondPerson != nil, Where: a.Where,
	}
}

// Resolved returns the event that ends what [Approval.Event] has announced.
func (a *Approval) Resolved() event.Event {
	if a.Ask != nil {
		return event.QuestionAnswered{QuestionID: a.ID, Outcome: a.Outcome, Answers: a.Answers, Feedback: a.Feedback, By: a.AnsweredBy}
	}
	return event.ToolApprovalResolved{ApprovalID: a.ID, Outcome: a.Outcome}
}

// Verdict is what somebody answers.
type Verdict uint8

// The verdicts. The zero Verdict denies.
const (
	DenyCall      Verdict = iota // or the answer to a question is declined
	ApproveOnce                  // this call
	ApproveAlways                // and whatever matches the request's AlwaysPatterns
	AnswerAsk                    // the agent's question, by Answers
)

// Answer is somebody's answer to an approval request.
type Answer struct {
	Verdict  Verdict
	Answers  []string      // with AnswerAsk: the chosen options, or the text
	Feedback string        // with DenyCall: what the model is told
	By       string        // names the person, for people
	As       record.Person // the person: see [SecondPerson]. Empty means unknown
}

// outcomeOf returns how the answer ends an approval.
func (a *Approval) outcomeOf(answer Answer) event.ApprovalOutcome {
	switch {
	case a.Ask != nil && answer.Verdict == AnswerAsk:
		return event.Answered
	case a.Ask != nil:
		return event.Declined
	case answer.Verdict == DenyCall:
		return event.Denied
	}
	return event.Approved
}

// ErrNoAlways is returned for an answer "always" to a call that no rule of its tool could
// allow from then on.
var ErrNoAlways = errors.New("no rule for calls like it would let it through, so there is no \"always\": approve only this call, or edit permissions.jsonc")

// AnsweredError says that an approval already had an answer.
type AnsweredError struct{ Approval *Approval }

func (e *AnsweredError) Error() string {
	a := e.Approval
	by := ""
	if a.AnsweredBy != "" {
		by = " by " + a.AnsweredBy
	}
	what := "approval"
	if a.Ask != nil {
		what = "question"
	}
	return fmt.Sprintf("%s %s does not wait any more: it was %s%s at %s", what, a.ID, a.Outcome, by, a.AnsweredAt.Local().Format(time.DateTime))
}

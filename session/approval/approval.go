package approval

import (
	"errors"
	"fmt"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/record"
)

// Approval is the stored form of a tool call that waits for an answer or has one. Its JSON
// is camelCase.
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

	// AskedBy has the people who have asked for the work.
	AskedBy []record.Person `json:"askedBy,omitempty"`

	// Where is the place of somebody who may answer, such as "worker top". Empty means that
	// somebody sits at the process.
	Where string `json:"where,omitempty"`

	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"` // without an answer by then, the call is denied

	// SecondPerson says why not everybody may approve the call; nil means everybody may.
	SecondPerson *SecondPerson `json:"secondPerson,omitempty"`

	// The answer. Outcome is empty until somebody answers.
	Outcome    event.ApprovalOutcome `json:"outcome,omitempty"`
	Always     bool                  `json:"always,omitempty"`
	Feedback   string                `json:"feedback,omitempty"` // what the model is told
	AnsweredBy string                `json:"answeredBy,omitempty"`
	AnsweredAs record.Person         `json:"answeredAs,omitempty"` // the person who answered; empty means unknown
	AnsweredAt time.Time             `json:"answeredAt,omitzero"`
}

// Pending reports whether the call still waits.
func (a *Approval) Pending() bool { return a.Outcome == "" }

// Event returns the event that announces the approval.
func (a *Approval) Event() event.ToolApprovalRequired {
	return event.ToolApprovalRequired{
		ApprovalID: a.ID, ToolCallID: a.ToolCallID, ToolName: a.Tool, Arguments: a.Arguments, SessionID: a.SessionID,
		Patterns: a.Patterns, AlwaysPatterns: a.AlwaysPatterns, Question: a.Question, ExpiresAt: a.ExpiresAt, SecondPerson: a.SecondPerson != nil, Where: a.Where,
	}
}

// Verdict is what somebody answers.
type Verdict uint8

// The verdicts. The zero Verdict denies.
const (
	DenyCall      Verdict = iota
	ApproveOnce           // this call
	ApproveAlways         // and whatever matches the request's AlwaysPatterns
)

// Answer is somebody's answer to an approval request.
type Answer struct {
	Verdict  Verdict
	Feedback string        // with DenyCall: what the model is told
	By       string        // names the person, for people
	As       record.Person // the person: see [SecondPerson]. Empty means unknown
}

// Outcome returns how the answer ends an approval.
func (a Answer) Outcome() event.ApprovalOutcome {
	if a.Verdict == DenyCall {
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
	return fmt.Sprintf("approval %s does not wait any more: it was %s%s at %s", a.ID, a.Outcome, by, a.AnsweredAt.Local().Format(time.DateTime))
}

package approval

import (
	"errors"
	"fmt"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/record"
)

// Approval is a tool call that waits for an answer, or has got one, as it is
// stored. Its JSON is camelCase.
type Approval struct {
	Schema         int        `json:"schema"`
	ID             string     `json:"id"`
	SessionID      string     `json:"sessionId"`
	Path           event.Path `json:"path"` // from the root down to the session
	Agent          string     `json:"agent,omitempty"`
	ToolCallID     string     `json:"toolCallId"`
	Tool           string     `json:"tool"`
	Arguments      string     `json:"arguments"`      // JSON, as the model wrote it
	Patterns       []string   `json:"patterns"`       // what the call wants, as rules see it
	AlwaysPatterns []string   `json:"alwaysPatterns"` // what "always" would allow from now on
	Reason         string     `json:"reason"`         // why it is asked about
	CreatedAt      time.Time  `json:"createdAt"`
	ExpiresAt      time.Time  `json:"expiresAt"` // then nobody's answer is a denial

	// SecondPerson is why not everybody may approve the call; nil means everybody may who
	// answers.
	SecondPerson *SecondPerson `json:"secondPerson,omitempty"`

	// The answer. Outcome is empty until somebody answers.
	Outcome    event.ApprovalOutcome `json:"outcome,omitempty"`
	Always     bool                  `json:"always,omitempty"`
	Feedback   string                `json:"feedback,omitempty"` // what the model is told
	AnsweredBy string                `json:"answeredBy,omitempty"`
	AnsweredAs record.Person         `json:"answeredAs,omitempty"` // as whom; empty means nobody who can be told apart
	AnsweredAt time.Time             `json:"answeredAt,omitzero"`
}

// Pending reports whether the call still waits.
func (a *Approval) Pending() bool { return a.Outcome == "" }

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
	By       string        // who answers, for people
	As       record.Person // as whom: see [SecondPerson]. Empty means it can't be told
}

// Outcome is how an approval ends by the answer.
func (a Answer) Outcome() event.ApprovalOutcome {
	if a.Verdict == DenyCall {
		return event.Denied
	}
	return event.Approved
}

// ErrNoAlways is the error of an answer "always" to a call that no rule of its
// tool would let through from then on.
var ErrNoAlways = errors.New("no rule for calls like it would let it through, so there is no \"always\": approve this call alone, or edit permissions.jsonc")

// AnsweredError tells that an approval had its answer already.
type AnsweredError struct{ Approval *Approval }

func (e *AnsweredError) Error() string {
	a := e.Approval
	by := ""
	if a.AnsweredBy != "" {
		by = " by " + a.AnsweredBy
	}
	return fmt.Sprintf("approval %s does not wait any more: it was %s%s at %s", a.ID, a.Outcome, by, a.AnsweredAt.Local().Format(time.DateTime))
}

package event

import (
	"encoding/json"
	"fmt"
	"time"
)

// SessionStart is the first event of every session.
type SessionStart struct {
	SessionID       string `json:"sessionId"`
	AgentType       string `json:"agentType,omitempty"` // empty means the session represents a caller
	ParentID        string `json:"parentId,omitempty"`
	ParentMessageID string `json:"parentMessageId,omitempty"`
	Description     string `json:"description,omitempty"` // the task in a few words
	Model           string `json:"model,omitempty"`
	Depth           int    `json:"depth"`                 // 0 means a root
	Resumes         string `json:"resumes,omitempty"`     // the ended session that this one resumes
	Traceparent     string `json:"traceparent,omitempty"` // of the caller's trace, as W3C Trace Context has it
	Policy          string `json:"policy,omitempty"`      // the hash of the policy that it began under; empty means there was none
}

// SessionResumed reports that the process of a session has exited, and another one resumes it
// from what is stored. A message that was cut off is not part of the conversation. The event
// is on the subject of [SessionEnd], so that only one process ends the session or takes it
// over.
type SessionResumed struct {
	Takeover int    `json:"takeover"` // which one of the session, from 1
	BootID   string `json:"bootId"`   // of the process that goes on

	// HandedOver says that the process before has ended in order: it was not killed.
	HandedOver bool `json:"handedOver,omitempty"`
}

// Summary says it in a line, for people.
func (r SessionResumed) Summary() string {
	if r.HandedOver {
		return "its worker has ended, and another one goes on with it"
	}
	return fmt.Sprintf("its process had gone: another one goes on with it (takeover %d)", r.Takeover)
}

// StatusChange reports that the session now does something else.
type StatusChange struct {
	Status Status `json:"status"`

	// Retry is set if the session continues with the same status: its model call
	// has failed and is repeated.
	Retry *Retry `json:"retry,omitempty"`

	// Pause is set with [StatusPaused].
	Pause *Pause `json:"pause,omitempty"`
}

// Pause says why a session waits for the provider of its model, and until when.
type Pause struct {
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"`
}

// Retry says why a model call is repeated, and when.
type Retry struct {
	Reason  string `json:"reason"`  // rate_limited, unavailable or another model.ErrorKind
	Try     int    `json:"try"`     // the number of the next try, counted from 1
	Tries   int    `json:"tries"`   // the maximum number of tries
	DelayMs int64  `json:"delayMs"` // from this event to the next try; 0 means a few seconds at most
}

// RetryReasoning is the reason of a [ModelRetry] without another try: what was shown as text was the
// model's thinking, and comes again as that.
const RetryReasoning = "reasoning"

// ModelRetry reports that an answer of the model broke off or failed, and begins anew. What was
// shown of its message does not count any more: the next try is another message.
type ModelRetry struct {
	MessageID string `json:"messageId"`
	Retry
}

// AgentChanged reports that the session goes on as another agent, in the same
// conversation. Its path keeps the name that it began with.
type AgentChanged struct {
	Agent  string `json:"agent"`
	Before string `json:"before"` // the agent that it was
	Model  string `json:"model"`
}

// ModelPicked reports which model was picked for the session before its first model call. It
// replaces the model of session_start.
type ModelPicked struct {
	Name  string `json:"name"` // by which it was picked
	Model string `json:"model"`
}

// ModelSwitched reports that the model of the session has failed for good, and that the next one
// of its list answers from now on.
type ModelSwitched struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"` // the error of the one before
}

// Budget reports, on the stream of the session that a budget was set for, that 80 or
// 100 percent of it are used.
type Budget struct {
	Limit   string      `json:"limit"`   // tokens, cost, modelCalls, toolCalls or time
	Used    json.Number `json:"used"`    // cost in US dollars, time in seconds
	Max     json.Number `json:"max"`     // likewise
	Percent int         `json:"percent"` // 80: it is said once that so much is used; 100: there is no more
	SetBy   string      `json:"setBy"`   // for people
}

// Stalled reports that nothing has happened in the session for long.
type Stalled struct {
	IdleMs    int64 `json:"idleMs"`    // since the event before
	StopsInMs int64 `json:"stopsInMs"` // it is stopped if nothing happens until then; 0: it is not
}

// Warning reports that something differs from what was asked for. The session goes on.
type Warning struct {
	Message string `json:"message"`
}

// Error reports a failure in the session. [SessionEnd] says what it means for the session.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// SessionEnd is the last event of every session.
type SessionEnd struct {
	Status     Status     `json:"status"`               // completed, failed, cancelled, timed_out or interrupted
	StopReason StopReason `json:"stopReason,omitempty"` // why; empty for a caller's root that is completed, and for other failures
}

// MovedToBackground reports that the call of the session has returned without waiting for it.
// The session continues in the background.
type MovedToBackground struct {
	By string `json:"by"` // for people
}

// AssignmentChanged reports that the session has another task or role from here on. What
// is empty stays.
type AssignmentChanged struct {
	Objective string `json:"objective,omitempty"` // what it is to do
	Role      string `json:"role,omitempty"`      // as what
}

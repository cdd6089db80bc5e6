// Package audit has the log of what the gate decides: which call of which session was
// allowed, asked for or denied, by which rule, and who answered.
package audit

import (
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/permission"
)

// Bounds of a line: what is left out is counted.
const (
	maxValues = 50
	maxText   = 2000 // bytes of one value
)

// Entry is one decision of the gate. The log has its JSON, one entry a line.
type Entry struct {
	Time       time.Time         `json:"time"`
	SessionID  string            `json:"sessionId"`
	Agent      string            `json:"agent,omitempty"`
	ToolCallID string            `json:"toolCallId"`
	Tool       string            `json:"tool"`
	Values     []Value           `json:"values"`
	LeftOut    int               `json:"valuesLeftOut,omitempty"`
	Action     permission.Action `json:"action"` // what the rules say
	Layer      permission.Layer  `json:"layer"`
	Rule       string            `json:"rule,omitempty"` // empty if no rule matched
	Source     string            `json:"source,omitempty"`
	Reason     string            `json:"reason,omitempty"` // why, if not because of a rule

	// With Action ask: how it ended, and who answered.
	Outcome    event.ApprovalOutcome `json:"outcome,omitempty"`
	AnsweredBy string                `json:"answeredBy,omitempty"`
}

// Value is one thing that a call wanted.
type Value struct {
	Tool string `json:"tool"`
	Text string `json:"text"`
}

// Decided adds to e what was decided of values, as far as it fits a line.
func (e Entry) Decided(values []permission.Value, d permission.Decision) Entry {
	e.Action, e.Layer, e.Values = d.Action, d.Layer, []Value{}
	if d.Rule != nil {
		e.Rule, e.Source = d.Rule.String(), d.Rule.Source.String()
	}
	for i, v := range values {
		if i == maxValues {
			e.LeftOut = len(values) - i
			break
		}
		e.Values = append(e.Values, Value{v.Tool, termtext.CutBytes(v.Text, maxText)})
	}
	return e
}

// Answered adds to e how a question ended, and who answered it.
func (e Entry) Answered(outcome event.ApprovalOutcome, by string) Entry {
	e.Outcome, e.AnsweredBy = outcome, by
	return e
}

// Package audit keeps the audit log of a workspace in a stream of its own. It records
// each decision, with the rule or the person's answer that made it. Each record has the
// hash of the previous one. So a record that was changed, removed or moved is found
// ([Verifier]).
package audit

import (
	"slices"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/permission"
)

// Bounds of a record: what is left out of its values is counted.
const (
	maxValues = 50
	maxText   = 2000     // bytes of one text
	maxTexts  = 16 << 10 // bytes of all values
)

// Kind is what a record is about.
type Kind string

// The kinds of records.
const (
	Decision       Kind = "decision"        // rules have allowed or denied a call
	Answer         Kind = "answer"          // a call that rules asked about is decided
	SessionStart   Kind = "session_start"   // a session has begun
	SessionResumed Kind = "session_resumed" // a process resumes the session of a dead one
	SessionEnd     Kind = "session_end"     // a session has ended
	PolicyChange   Kind = "policy_change"   // another policy of the administrator is in force than before
	Rotation       Kind = "rotation"        // the oldest records are taken out
)

// Kinds are all kinds, in the order of the documentation.
var Kinds = []Kind{Decision, Answer, SessionStart, SessionResumed, SessionEnd, PolicyChange, Rotation}

// The outcomes of calls that nobody was asked about.
const (
	Allowed = "allowed"
	Denied  = "denied"
)

// LeftToPerson is the outcome of a review that has a person asked.
const LeftToPerson event.ApprovalOutcome = "left_to_person"

// Record is one record of the log. Which fields it has depends on its kind.
type Record struct {
	N    uint64    `json:"n"` // counted from 1
	Time time.Time `json:"time"`
	Kind Kind      `json:"kind"`

	User      string `json:"user,omitempty"`   // the worker's user and host: "alice@host"
	Client    string `json:"client,omitempty"` // the caller at the root of the session, as it names itself, with its version
	Worker    string `json:"worker,omitempty"` // the process
	SessionID string `json:"sessionId,omitempty"`
	RootID    string `json:"rootId,omitempty"` // the session of the caller
	Agent     string `json:"agent,omitempty"`
	Model     string `json:"model,omitempty"`

	ToolCallID string  `json:"toolCallId,omitempty"`
	Tool       string  `json:"tool,omitempty"`
	Values     []Value `json:"values,omitempty"`
	LeftOut    int     `json:"valuesLeftOut,omitempty"`

	Action string           `json:"action,omitempty"` // what the rules say: allow, ask, deny
	Layer  permission.Layer `json:"layer,omitempty"`
	Rule   string           `json:"rule,omitempty"`   // empty if no rule matched
	Source string           `json:"source,omitempty"` // file:line of the rule
	Reason string           `json:"reason,omitempty"` // why, if not because of a rule

	Question string `json:"question,omitempty"` // what a person was asked; it follows "asks to"

	// Outcome is how it ended: [Allowed] or [Denied] by rules, an
	// [event.ApprovalOutcome], or the status of a session. By is who has decided that, if
	// it was not the rules.
	Outcome string   `json:"outcome,omitempty"`
	By      string   `json:"by,omitempty"`
	AskedBy []string `json:"askedBy,omitempty"` // people who may not answer: they have asked for the work, and a second person is required
	Always  []string `json:"always,omitempty"`  // the patterns that the answer "always" allows from then on

	// Policy is the hash of the policy in force. Whoever adds a record sets Under; nil
	// means it is not known, and is taken to be that of the record before.
	Policy string  `json:"policy,omitempty"`
	Under  *string `json:"-"`
	Before string  `json:"before,omitempty"` // of a policy change: the one before

	// Rotated is of a rotation: the last record that was taken out.
	Rotated *Head `json:"rotated,omitempty"`

	Prev string `json:"prev"`           // the hash of the record before; of the first one 64 zeros
	Hash string `json:"hash,omitempty"` // SHA-256 of the record's JSON without this field
}

// Value is one thing that a call wanted.
type Value struct {
	Tool string `json:"tool"`
	Text string `json:"text"`
}

// Decided adds to r what the rules say of values, as far as it fits a record.
func (r Record) Decided(values []permission.Value, d permission.Decision) Record {
	r.Kind, r.Action, r.Layer = Decision, d.Action.String(), d.Layer
	switch d.Action {
	case permission.Allow:
		r.Outcome = Allowed
	case permission.Deny:
		r.Outcome = Denied
	}
	if d.Rule != nil {
		r.Rule, r.Source = d.Rule.String(), d.Rule.Source.String()
	}
	r.Values = make([]Value, 0, min(len(values), maxValues))
	size := 0
	for i, v := range values {
		text := text(v.Text)
		if size += len(text); i == maxValues || size > maxTexts {
			r.LeftOut = len(values) - i
			break
		}
		r.Values = append(r.Values, Value{v.Tool, text})
	}
	return r
}

// Answered adds to r how a question ended, and who answered it.
func (r Record) Answered(outcome event.ApprovalOutcome, by string) Record {
	r.Kind, r.Outcome, r.By = Answer, string(outcome), by
	return r
}

// cleaned returns the record in the form for storage. Every text that people, models or
// files have written passes text.
func (r Record) cleaned() Record {
	for _, t := range []*string{&r.User, &r.Client, &r.Agent, &r.Model, &r.Tool, &r.ToolCallID, &r.Rule, &r.Source, &r.Reason, &r.Question, &r.By} {
		*t = text(*t)
	}
	r.Values = slices.Clone(r.Values)
	for i := range r.Values {
		r.Values[i] = Value{text(r.Values[i].Tool), text(r.Values[i].Text)}
	}
	r.AskedBy = slices.Clone(r.AskedBy)
	for i := range r.AskedBy {
		r.AskedBy[i] = text(r.AskedBy[i])
	}
	r.Always = slices.Clone(r.Always[:min(len(r.Always), maxValues)])
	for i := range r.Always {
		r.Always[i] = text(r.Always[i])
	}
	return r
}

// text returns a text as the log may have it: without what looks like a credential.
func text(s string) string { return termtext.CutBytes(secrets.Mask(s), maxText) }

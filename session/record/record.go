package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
)

// Schema is the version of what is stored of sessions: of records, logs, messages,
// approvals and checkpoints. A worker reads no other.
const Schema = 1

// Record is what is stored of a session. Its JSON is camelCase.
type Record struct {
	Schema          int              `json:"schema"`
	ID              string           `json:"id"`
	ParentID        string           `json:"parentId,omitempty"`
	ParentMessageID string           `json:"parentMessageId,omitempty"` // the message whose tool call made this session
	Path            event.Path       `json:"path"`                      // from the root down to this session
	Agent           string           `json:"agent,omitempty"`           // empty means the session represents a caller
	AskedBy         []Person         `json:"askedBy,omitempty"`         // people who have begun it or told it what to do; no sessions
	Label           string           `json:"label,omitempty"`           // names it in lists
	Metadata        json.RawMessage  `json:"metadata,omitempty"`        // a JSON object of the caller
	Warnings        []string         `json:"warnings,omitempty"`        // differences from what was asked for
	Description     string           `json:"description,omitempty"`
	Traceparent     string           `json:"traceparent,omitempty"` // of the caller's trace, as W3C Trace Context has it
	Role            string           `json:"role,omitempty"`        // its current role, as its caller has set it while it ran
	Model           string           `json:"model,omitempty"`
	Status          Status           `json:"status"`
	Error           string           `json:"error,omitempty"` // why it has not completed
	StopReason      event.StopReason `json:"stopReason,omitempty"`
	Depth           int              `json:"depth"` // 0 means a root
	Steps           int              `json:"steps"` // model calls
	Usage           model.Usage      `json:"usage"`
	Total           *Total           `json:"total,omitempty"` // with all sessions below it, once it has ended
	CreatedAt       time.Time        `json:"createdAt"`
	StartedAt       time.Time        `json:"startedAt,omitzero"`
	EndedAt         time.Time        `json:"endedAt,omitzero"`
	BootID          string           `json:"bootId"`                 // the process that runs it, or has claimed it
	EndedBy         string           `json:"endedBy,omitempty"`      // the other process that has ended it, if one has
	Pause           *Pause           `json:"pause,omitempty"`        // it runs, and waits for a provider; nil means it does not
	Stalled         bool             `json:"stalled,omitempty"`      // it runs, and nothing has happened for a long time
	Closed          bool             `json:"closed"`                 // its stream has its session_end
	Takeovers       int              `json:"takeovers,omitempty"`    // how often another process has claimed it
	HandOvers       int              `json:"handOvers,omitempty"`    // how often the process before had ended in order then
	Worktree        *Worktree        `json:"worktree,omitempty"`     // nil means it works in the workspace
	Detached        bool             `json:"detached,omitempty"`     // it continues when its parent ends
	Cleanup         bool             `json:"cleanup,omitempty"`      // it is deleted after delivery of its result: see the package retention
	Background      bool             `json:"background,omitempty"`   // a message tells its parent of its end
	Resumes         string           `json:"resumes,omitempty"`      // the session whose conversation this one continues
	FromStep        int              `json:"fromStep,omitempty"`     // the last step of Resumes that it continues; 0 means all
	Policy          string           `json:"policy,omitempty"`       // the hash of the policy that it began under; empty means there was none
	Resident        string           `json:"residentFile,omitempty"` // the file that precedes its prompt: relative to the workspace, or absolute
	Todo            *Progress        `json:"todo,omitempty"`         // by its own list; nil means it keeps none
	Work            Work             `json:"work,omitzero"`          // zero means nothing was done

	// Nested says that the session's transcript nests in that of its parent. Once it has
	// ended, lists leave it out unless they are asked for it.
	Nested bool `json:"nested,omitempty"`

	// Fork is how many turns of its parent's conversation, up to ParentMessageID, the
	// session continues; -1 means all, 0 means none.
	Fork int `json:"fork,omitempty"`
}

// Pause is why a session waits, and until when. It is immutable: to change it, a record
// gets another one.
type Pause struct {
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"`
}

// Duration returns how long the session has run, up to its end or up to now.
func (r *Record) Duration(now time.Time) time.Duration {
	if r.StartedAt.IsZero() {
		return 0
	}
	if r.Status.Ended() {
		now = r.EndedAt
	}
	return max(0, now.Sub(r.StartedAt)) // the machine's clock may have been set back
}

// Transition changes the state of a session at now. All changes go through it. why is the
// error of an end. An ended session keeps its state: [ErrEnded].
func (r *Record) Transition(to Status, why error, now time.Time) error {
	switch {
	case r.Status.Ended():
		return fmt.Errorf("session %s is %s and can't become %s: %w", r.ID, r.Status, to, ErrEnded)
	case r.Status == to:
		return nil
	case to == Queued:
		return fmt.Errorf("session %s is %s and cannot be queued again", r.ID, r.Status)
	}
	if to.Ended() {
		r.End(to, why, now)
		return nil
	}
	r.Status = to
	if r.StartedAt.IsZero() {
		r.StartedAt = now
	}
	return nil
}

// End ends the session, whatever its state. why nil means that it ends without an error.
func (r *Record) End(as Status, why error, now time.Time) {
	r.Status, r.EndedAt, r.Error, r.Stalled, r.Pause = as, now, "", false, nil
	r.StopReason = StopReason(as, why, r.StopReason)
	if why != nil {
		r.Error = secrets.Mask(errtext.Of(why))
	}
}

// maxDescription bounds a description that is made of an objective, in characters.
const maxDescription = 200

// Assign notes another assignment: its objective replaces label and description.
func (r *Record) Assign(a event.AssignmentChanged) {
	if a.Objective != "" {
		r.Description, r.Label = termtext.OneLine(secrets.Mask(a.Objective), maxDescription), ""
	}
	if a.Role != "" {
		r.Role = secrets.Mask(a.Role)
	}
}

// StartEvent returns the first event of the session.
func (r *Record) StartEvent() event.SessionStart {
	return event.SessionStart{
		SessionID: r.ID, AgentType: r.Agent, ParentID: r.ParentID, ParentMessageID: r.ParentMessageID,
		Description: r.Description, Model: r.Model, Depth: r.Depth, Resumes: r.Resumes, Traceparent: r.Traceparent, Policy: r.Policy,
	}
}

// Archived reports whether at least after has passed since the session's end. after 0 means
// never.
func (r *Record) Archived(after time.Duration, now time.Time) bool {
	return after > 0 && r.Status.Ended() && now.Sub(r.EndedAt) >= after
}

// Below reports whether r is the session of an id or one of its descendants.
func (r *Record) Below(id string) bool {
	return slices.ContainsFunc(r.Path, func(h event.Hop) bool { return h.SessionID == id })
}

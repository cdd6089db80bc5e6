package control

import (
	"encoding/json"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt/report"
)

// Document is a result as programs read it: the JSON of the command line's
// --json, of the answers over HTTP and of those over NATS.
type Document struct {
	Type       string           `json:"type"` // task_result, task_error, task_accepted, run_result or run_error
	Agent      string           `json:"agent"`
	SessionID  string           `json:"sessionId,omitempty"` // empty if no session was opened
	ParentID   string           `json:"parentId,omitempty"`
	Status     record.Status    `json:"status"`
	StopReason event.StopReason `json:"stopReason,omitempty"` // why it ended: see [event.StopReason]
	Text       string           `json:"text,omitempty"`       // the answer
	Earlier    []string         `json:"earlier,omitempty"`    // answers before it, that messages of subagents in the background came after
	Error      string           `json:"error,omitempty"`      // what went wrong
	Result     string           `json:"result,omitempty"`     // the XML element of a task
	Model      string           `json:"model,omitempty"`
	Usage      event.Usage      `json:"usage"`           // without a cost: it is not known
	Total      *record.Total    `json:"total,omitempty"` // with all sessions below it; nil means it runs
	Steps      int              `json:"steps"`
	DurationMs int64            `json:"durationMs"`

	Label    string          `json:"label,omitempty"`    // as the call has it
	Metadata json.RawMessage `json:"metadata,omitempty"` // as the call has it
	Warnings []string        `json:"warnings,omitempty"` // where the session differs from what was asked

	Worktree *record.Worktree `json:"worktree,omitempty"` // nil means the task had none

	Work   record.Work    `json:"work,omitzero"`    // what was done, as tools and gate tell it
	Report *report.Report `json:"report,omitempty"` // the answer in sections; nil means it has none
	Notes  []string       `json:"notes,omitempty"`  // what does not hold of the answer
}

// Took returns how long the task took.
func (d *Document) Took() time.Duration { return time.Duration(d.DurationMs) * time.Millisecond }

// Document returns the result as programs read it.
func (r *Result) Document() Document {
	doc := Document{
		Type:       "task_result",
		Agent:      r.Agent,
		SessionID:  r.SessionID,
		ParentID:   r.Record.ParentID,
		Status:     r.Status,
		StopReason: r.StopReason(),
		Text:       r.Text,
		Earlier:    r.Earlier,
		Result:     r.XML(),
		Model:      r.Record.Model,
		Usage:      event.Usage(r.Record.Usage),
		Total:      r.Record.Total,
		Steps:      r.Record.Steps,
		DurationMs: r.Duration.Milliseconds(),
		Label:      r.Record.Label,
		Metadata:   r.Record.Metadata,
		Warnings:   r.Record.Warnings,
		Worktree:   r.Record.Worktree,
		Work:       r.Record.Work,
	}
	doc.Report, doc.Notes = r.Assess()
	if r.Status == Accepted {
		doc.Type = "task_accepted"
	}
	if r.Err != nil {
		doc.Type, doc.Text, doc.Error = "task_error", "", r.Err.Error()
	}
	return doc
}

package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
)

// The kinds of the entries that a session's log has beside its events: what
// [Fold] needs and no event carries.
const (
	openedKind  = "opened"    // the first entry: an [openedData]
	messageKind = "message"   // a [messageData]
	knownKind   = "known"     // a [knownData]
	compactKind = "compacted" // a [compactedData]
	titledKind  = "titled"    // a [titledData]
	agentKind   = "agent"     // an [agentData]
	endedKind   = "ended"     // before session_end: an [endedData]
	budgetKind  = "budget"    // what the session may use: JSON that its owner knows
	reserveKind = "reserve"   // a [reserveData]
	askedKind   = "asked"     // an [askedData]
	wholeKind   = "whole"     // an event that follows masked, whole: its JSON
)

// openedData begins the log of a session.
type openedData struct {
	Schema    int        `json:"schema"` // of the log: that of a [Record]
	BootID    string     `json:"bootId"`
	CreatedAt time.Time  `json:"createdAt"`
	Path      event.Path `json:"path"`
	Worktree  *Worktree  `json:"worktree,omitempty"`
	Fork      int        `json:"fork,omitempty"`
	Nested    bool       `json:"nested,omitempty"`
	Resumes   string     `json:"resumes,omitempty"`
	AskedBy   []Person   `json:"askedBy,omitempty"`

	Resident string `json:"residentFile,omitempty"`

	Background bool `json:"background,omitempty"`
	Detached   bool `json:"detached,omitempty"`
	Cleanup    bool `json:"cleanup,omitempty"`

	CallID string `json:"callId,omitempty"` // as in [State]

	Label    string          `json:"label,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`

	// Terms is how the session was called, for who resumes it. Its form is that of
	// the package that calls sessions.
	Terms json.RawMessage `json:"terms,omitempty"`
}

// messageData is a message of the conversation, or that of it which no event
// carries.
type messageData struct {
	ID   string     `json:"id"`
	Role model.Role `json:"role"`

	// Text is what the session has told the model. The model's own text is in
	// content_delta events, and here if it is masked there.
	Text string `json:"text,omitempty"`

	// Answers is the message whose calls were answered, if Text goes with their
	// results: these are in tool_call_end events.
	Answers string `json:"answers,omitempty"`

	// Reasoning is what a provider wants back, signed, with the model's message.
	Reasoning []model.Reasoning `json:"reasoning,omitempty"`
}

// knownData says that the result of a call tells the model what messages would.
type knownData struct {
	CallID string   `json:"callId"`
	IDs    []string `json:"ids"` // of the messages
}

// endedData says of the end of a session what its last events do not.
type endedData struct {
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt"`
	Error     string    `json:"error,omitempty"`
	EndedBy   string    `json:"endedBy,omitempty"`
	Worktree  *Worktree `json:"worktree,omitempty"`

	Idle     bool       `json:"idle,omitempty"` // as [Work] has them
	Evidence []Evidence `json:"evidence,omitempty"`
}

// reserveData is what was set aside for the model call that follows. Zero: the call
// that it was set aside for has used nothing.
type reserveData struct {
	Tokens int64 `json:"tokens"`
	Cost   int64 `json:"cost,omitempty"` // in billionths of a US dollar
}

// LogEntry is an entry of a session's log that is no event.
type LogEntry struct {
	kind string
	data any // of which all fields have a JSON
}

// AppendTo hands the entry to the stream of its session.
func (e LogEntry) AppendTo(ctx context.Context, p *eventbus.Publisher) error {
	data, err := json.Marshal(e.data)
	if err != nil {
		panic(err)
	}
	return p.Append(ctx, e.kind, data)
}

// appendFirst stores the entry and waits, unless the session has an entry.
func (e LogEntry) appendFirst(ctx context.Context, p *eventbus.Publisher) error {
	data, err := json.Marshal(e.data)
	if err != nil {
		panic(err)
	}
	return p.AppendFirst(ctx, e.kind, data)
}

// OpenedEntry is the entry that a session's log begins with. callID is the call that has
// made the session; terms is how it was called, for who resumes it; nil means it is not
// resumed.
func (r *Record) OpenedEntry(callID string, terms json.RawMessage) LogEntry {
	return LogEntry{openedKind, openedData{
		Schema: Schema, BootID: r.BootID, CreatedAt: r.CreatedAt, Path: r.Path, Worktree: r.Worktree, Fork: r.Fork, Nested: r.Nested, Resumes: r.Resumes,
		Resident: r.Resident, Background: r.Background, Detached: r.Detached, Cleanup: r.Cleanup, CallID: callID, Label: r.Label, Metadata: r.Metadata, AskedBy: r.AskedBy, Terms: terms,
	}}
}

// EndedEntry is the one that comes before its session_end.
func (r *Record) EndedEntry() LogEntry {
	return LogEntry{endedKind, endedData{StartedAt: r.StartedAt, EndedAt: r.EndedAt, Error: r.Error, EndedBy: r.EndedBy, Worktree: r.Worktree, Idle: r.Work.Idle, Evidence: r.Work.Evidence}}
}

// StartEvent is the first event of a session.
func (r *Record) StartEvent() event.SessionStart {
	return event.SessionStart{
		SessionID: r.ID, AgentType: r.Agent, ParentID: r.ParentID, ParentMessageID: r.ParentMessageID,
		Description: r.Description, Model: r.Model, Depth: r.Depth, Resumes: r.Resumes, Traceparent: r.Traceparent, Policy: r.Policy,
	}
}

// ResultsID is the id of the message that has the results of the calls of
// another one.
func ResultsID(messageID string) string { return messageID + "_results" }

// ToldEntry is a message that the session has for its model.
func ToldEntry(id, text string) LogEntry {
	return LogEntry{messageKind, messageData{ID: id, Role: model.User, Text: text}}
}

// KnownEntry says that the result of a call, which follows, tells the model what the
// messages of these ids would.
func KnownEntry(callID string, ids []string) LogEntry {
	return LogEntry{knownKind, knownData{callID, ids}}
}

// ResultsEntry is a text that the model is told with the results of the calls of
// a message.
func ResultsEntry(messageID, text string) LogEntry {
	return LogEntry{messageKind, messageData{ID: ResultsID(messageID), Role: model.User, Text: text, Answers: messageID}}
}

// BudgetEntry is what the session may use, as [State.Budget] has it. The last one
// counts.
func BudgetEntry(budget json.RawMessage) LogEntry { return LogEntry{budgetKind, budget} }

// ReservedEntry is what was set aside for the model call that follows: tokens, and
// their cost in billionths of a US dollar. Without any: the call has used nothing.
func ReservedEntry(tokens, cost int64) LogEntry {
	return LogEntry{reserveKind, reserveData{tokens, cost}}
}

// SaidEntry is what no event says of a message of the model, whose text may be masked
// there. needed false: they say all.
func SaidEntry(id string, m *model.Message, masked bool) (entry LogEntry, needed bool) {
	if len(m.Reasoning) == 0 && (m.Text != "" || len(m.ToolCalls) > 0) && !masked {
		return LogEntry{}, false
	}
	said := messageData{ID: id, Role: model.Assistant, Reasoning: m.Reasoning}
	if masked {
		said.Text = m.Text
	}
	return LogEntry{messageKind, said}, true
}

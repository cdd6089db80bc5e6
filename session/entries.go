package session

import (
	"encoding/json"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
)

// The kinds of the entries that a session's log has beside its events: what
// [Fold] needs and no event carries.
const (
	openedKind  = "opened"  // the first entry: an [openedEntry]
	messageKind = "message" // a [messageEntry]
	endedKind   = "ended"   // before session_end: an [endedEntry]
)

// openedEntry begins the log of a session.
type openedEntry struct {
	Schema    int        `json:"schema"` // of the log: that of a [Record]
	BootID    string     `json:"bootId"`
	CreatedAt time.Time  `json:"createdAt"`
	Path      event.Path `json:"path"`
}

// messageEntry is a message of the conversation, or that of it which no event
// carries.
type messageEntry struct {
	ID   string     `json:"id"`
	Role model.Role `json:"role"`

	// Text is what the session has told the model. The model's own text is in
	// content_delta events.
	Text string `json:"text,omitempty"`

	// Answers is the message whose calls were answered, if Text goes with their
	// results: these are in tool_call_end events.
	Answers string `json:"answers,omitempty"`

	// Reasoning is what a provider wants back, signed, with the model's message.
	Reasoning []model.Reasoning `json:"reasoning,omitempty"`
}

// endedEntry says of the end of a session what its last events do not.
type endedEntry struct {
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt"`
	Error     string    `json:"error,omitempty"`
	EndedBy   string    `json:"endedBy,omitempty"`
}

func (r *Record) opened() openedEntry {
	return openedEntry{Schema: recordSchema, BootID: r.BootID, CreatedAt: r.CreatedAt, Path: r.Path}
}

func (r *Record) ended() endedEntry {
	return endedEntry{StartedAt: r.StartedAt, EndedAt: r.EndedAt, Error: r.Error, EndedBy: r.EndedBy}
}

func (r *Record) started() event.SessionStart {
	return event.SessionStart{
		SessionID: r.ID, AgentType: r.Agent, ParentID: r.ParentID, ParentMessageID: r.ParentMessageID,
		Description: r.Description, Model: r.Model, Depth: r.Depth,
	}
}

// resultsID is the id of the message that has the results of the calls of
// another one.
func resultsID(messageID string) string { return messageID + "_results" }

// unsaid returns what no event says of a message of the model; nil: they say all.
func unsaid(id string, m *model.Message) *messageEntry {
	if len(m.Reasoning) == 0 && (m.Text != "" || len(m.ToolCalls) > 0) {
		return nil
	}
	return &messageEntry{ID: id, Role: model.Assistant, Reasoning: m.Reasoning}
}

// encodeEntry makes the JSON of an entry, whose fields all have one.
func encodeEntry(entry any) json.RawMessage {
	data, err := json.Marshal(entry)
	if err != nil {
		panic(err)
	}
	return data
}

package log

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
)

// openedData begins the log of a session.
type openedData struct {
	Schema    int              `json:"schema"` // of the log: that of a [record.Record]
	BootID    string           `json:"bootId"`
	CreatedAt time.Time        `json:"createdAt"`
	Path      event.Path       `json:"path"`
	Worktree  *record.Worktree `json:"worktree,omitempty"`
	Fork      int              `json:"fork,omitempty"`
	Nested    bool             `json:"nested,omitempty"`
	Resumes   string           `json:"resumes,omitempty"`
	FromStep  int              `json:"fromStep,omitempty"`
	AskedBy   []record.Person  `json:"askedBy,omitempty"`

	Resident string `json:"residentFile,omitempty"`

	Background bool `json:"background,omitempty"`
	Detached   bool `json:"detached,omitempty"`
	Cleanup    bool `json:"cleanup,omitempty"`

	CallID string `json:"callId,omitempty"` // as in [State]

	Label    string          `json:"label,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`

	// Terms is how the session was called, for whichever process resumes it. The package
	// that calls sessions defines its form.
	Terms json.RawMessage `json:"terms,omitempty"`
}

// messageData is a message of the conversation, or the part of one that no event carries.
type messageData struct {
	ID   string     `json:"id"`
	Role model.Role `json:"role"`

	// Text is what the session tells the model. The model's own text is in content_delta
	// events, and also here if it is masked there.
	Text string `json:"text,omitempty"`

	// Images are the pictures that belong to Text.
	Images []model.Image `json:"images,omitempty"`

	// Answers is the message whose calls were answered, if Text goes with their results.
	// The results are in tool_call_end events.
	Answers string `json:"answers,omitempty"`

	// Reasoning is what a provider wants back, signed, with the model's message.
	Reasoning []model.Reasoning `json:"reasoning,omitempty"`
}

// knownData says that a call's result delivers messages to the model.
type knownData struct {
	CallID string   `json:"callId"`
	IDs    []string `json:"ids"` // of the messages
}

// fenceData is what the event store writes about a fence.
type fenceData struct {
	Owner string `json:"owner"` // the boot id of the process that owns the session
	By    string `json:"by"`    // the boot id of the process that has stored the fence
}

// endedData is what a session's last events lack about its end.
type endedData struct {
	StartedAt time.Time        `json:"startedAt,omitzero"`
	EndedAt   time.Time        `json:"endedAt"`
	Error     string           `json:"error,omitempty"`
	EndedBy   string           `json:"endedBy,omitempty"`
	Worktree  *record.Worktree `json:"worktree,omitempty"`
	Total     *record.Total    `json:"total,omitempty"`

	Idle     bool              `json:"idle,omitempty"` // as [record.Work] has them
	Evidence []record.Evidence `json:"evidence,omitempty"`
}

// reserveData is what was set aside for the model call that follows. Zero means that the
// last call has used nothing.
type reserveData struct {
	Tokens int64 `json:"tokens"`
	Cost   int64 `json:"cost,omitempty"` // in billionths of a US dollar
}

// Entry is one entry of a session's log: an event, or another one.
type Entry struct {
	Seq  uint64    // its sequence number; 0 means it is not stored
	Time time.Time // when it was stored

	// Kind is the type of an event, or the kind of another entry.
	Kind  string
	Event bool            // it is an event
	Data  json.RawMessage // its JSON
}

// Appender adds entries to the log of a session.
type Appender interface {
	Append(ctx context.Context, kind string, data json.RawMessage) error
}

// AppendTo hands the entry to the stream of its session.
func (e Entry) AppendTo(ctx context.Context, to Appender) error {
	return to.Append(ctx, e.Kind, e.Data)
}

// askedData is a further person who has asked for what the session does.
type askedData struct {
	By record.Person `json:"by"`
}

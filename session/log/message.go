package log

import (
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
)

// Message is a message of a session's conversation.
type Message struct {
	Schema    int       `json:"schema"`
	ID        string    `json:"id"`
	SessionID string    `json:"sessionId"`
	CreatedAt time.Time `json:"createdAt"`
	model.Message

	// Nested are the sessions that the message's calls have made, if their transcripts nest
	// in this one ([record.Record.Nested]).
	Nested []*Nested `json:"nested,omitempty"`
}

// Nested is a session whose transcript nests in that of its parent.
type Nested struct {
	*record.Record
	Messages []*Message `json:"messages"` // nil for a session beyond the first 100
}

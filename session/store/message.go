package store

import (
	"time"

	"github.com/agentworker/worker/model"
)

// Message is a message of a session's conversation.
type Message struct {
	Schema    int       `json:"schema"`
	ID        string    `json:"id"`
	SessionID string    `json:"sessionId"`
	CreatedAt time.Time `json:"createdAt"`
	model.Message

	// Nested are the sessions that calls of the message have made and whose transcripts
	// nest in this one ([Record.Nested]).
	Nested []*Nested `json:"nested,omitempty"`
}

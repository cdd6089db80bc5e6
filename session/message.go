package session

import (
	"time"

	"github.com/agentworker/worker/model"
)

// messageSchema is the version of the stored form of a [Message].
const messageSchema = 1

// Message is a message of a session's conversation as it is stored.
type Message struct {
	Schema    int       `json:"schema"`
	ID        string    `json:"id"`
	SessionID string    `json:"sessionId"`
	CreatedAt time.Time `json:"createdAt"`
	model.Message
}

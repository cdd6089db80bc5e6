package session

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
)

// messageSchema is the version of the stored form of a [Message]. 2: it may be
// in the object store.
const messageSchema = 2

// Message is a message of a session's conversation as it is stored.
type Message struct {
	Schema    int       `json:"schema"`
	ID        string    `json:"id"`
	SessionID string    `json:"sessionId"`
	CreatedAt time.Time `json:"createdAt"`
	model.Message
}

// messagePlace is what is stored of a message that is too large: all but what
// was said, and where that is.
type messagePlace struct {
	Schema    int               `json:"schema"`
	ID        string            `json:"id"`
	SessionID string            `json:"sessionId"`
	CreatedAt time.Time         `json:"createdAt"`
	Ref       *event.PayloadRef `json:"payloadRef"`
}

// encodeMessage returns what is stored of a message, after what does not fit
// there is in the object store.
func (s *Store) encodeMessage(ctx context.Context, m *Message) ([]byte, error) {
	data, err := json.Marshal(m)
	if err != nil || len(data) <= s.bus.MaxMessage() {
		return data, err
	}
	ref, err := s.bus.PutPayload(ctx, m.SessionID, data)
	if err != nil {
		return nil, err
	}
	return json.Marshal(messagePlace{m.Schema, m.ID, m.SessionID, m.CreatedAt, ref})
}

// decodeMessage reads a stored message of whatever schema, as a whole.
func (s *Store) decodeMessage(ctx context.Context, data []byte) (*Message, error) {
	var place messagePlace
	if err := migrate(messageKind, data, &place); err != nil {
		return nil, err
	}
	if place.Ref != nil {
		var err error
		if data, err = s.bus.Payload(ctx, place.Ref); err != nil {
			return nil, fmt.Errorf("message %s: %w", place.ID, err)
		}
	}
	m := new(Message)
	return m, migrate(messageKind, data, m)
}

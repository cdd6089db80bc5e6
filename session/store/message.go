package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
)

// messageSchema is the version of the stored form of a [Message]. 2: it may be
// in the object store.
const messageSchema = 2

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

// messagePlace is what is stored of a message that is too large: all but what
// was said, and where that is.
type messagePlace struct {
	ID  string            `json:"id"`
	Ref *event.PayloadRef `json:"payloadRef"`
}

// openMessages returns the stream that workers of before schema 3 of a [Record]
// have stored messages in; nil if there is none. Nothing is added to it.
func openMessages(ctx context.Context, bus *eventbus.Bus) (jetstream.Stream, error) {
	if _, err := bus.JetStream().Stream(ctx, messageStream); errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	return bus.EnsureStream(ctx, jetstream.StreamConfig{
		Name:        messageStream,
		Description: "messages of agent sessions",
		Subjects:    []string{"agents.v1.*.messages.*"},
		AllowDirect: true,
	})
}

func (s *Store) messageSubject(id string) string {
	return "agents.v1." + s.workspace + ".messages." + id
}

// oldMessages returns the conversation of a session from that stream.
func (s *Store) oldMessages(ctx context.Context, id string) ([]*Message, error) {
	if s.messages == nil {
		return nil, nil
	}
	var messages []*Message
	for data, err := range s.bus.Read(ctx, s.messages, s.messageSubject(id)) {
		var m *Message
		if err == nil {
			m, err = s.decodeMessage(ctx, data)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the messages of session %s: %w", id, err)
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// decodeMessage reads a stored message of whatever schema, as a whole.
func (s *Store) decodeMessage(ctx context.Context, data []byte) (*Message, error) {
	var place messagePlace
	if err := migrate(storedMessageKind, data, &place); err != nil {
		return nil, err
	}
	if place.Ref != nil {
		var err error
		if data, err = s.bus.Payload(ctx, place.Ref); err != nil {
			return nil, fmt.Errorf("message %s: %w", place.ID, err)
		}
	}
	m := new(Message)
	return m, migrate(storedMessageKind, data, m)
}

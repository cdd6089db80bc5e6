package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Event is one fact about a session or a workspace. Its JSON is camelCase with
// "type" first, as [Encode] writes it.
type Event interface {
	// Type is the event's name on the wire, for example "content_delta".
	Type() string
}

// Unknown is an event of a type that this version does not know.
type Unknown struct {
	TypeName string
	Raw      json.RawMessage // the whole event
}

// Decode reads one event. A type that this version does not know becomes an
// [Unknown], so that a newer worker's events pass through an older client.
func Decode(data []byte) (Event, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("decoding an event: %w", err)
	}
	if head.Type == "" {
		return nil, errors.New("decoding an event: it has no type")
	}
	read, ok := decoders[head.Type]
	if !ok {
		return Unknown{TypeName: head.Type, Raw: bytes.Clone(data)}, nil
	}
	ev, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("decoding a %s event: %w", head.Type, err)
	}
	return ev, nil
}

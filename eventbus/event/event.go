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

	// Masked returns the event without what looks like a credential, as it is stored and
	// shown. It returns false if there is none.
	Masked() (Event, bool)
}

// Unknown is an event of a type that this version does not know.
type Unknown struct {
	TypeName string
	Raw      json.RawMessage // the whole event
}

var typeField = []byte(`{"type":"`)

// TypeOf returns the type of an event. It is empty where the JSON is not that of an event.
func TypeOf(data []byte) string {
	if rest, ok := bytes.CutPrefix(data, typeField); ok {
		if end := bytes.IndexByte(rest, '"'); end > 0 && bytes.IndexByte(rest[:end], '\\') < 0 {
			return string(rest[:end])
		}
	}
	var head struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(data, &head)
	return head.Type
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
	row, ok := table[head.Type]
	if !ok {
		return Unknown{TypeName: head.Type, Raw: bytes.Clone(data)}, nil
	}
	ev, err := row.decode(data)
	if err != nil {
		return nil, fmt.Errorf("decoding a %s event: %w", head.Type, err)
	}
	return ev, nil
}

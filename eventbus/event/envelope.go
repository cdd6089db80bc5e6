package event

import "encoding/json"

// SubagentEvent is the envelope: an event of a child as its parent's stream shows
// it. Event is the child's event, or another envelope.
type SubagentEvent struct {
	AgentType string          `json:"agentType"`
	SessionID string          `json:"sessionId"`
	Event     json.RawMessage `json:"event"`
}

// Unwrap decodes an event and the envelopes around it, the outermost first. ev is
// never a [SubagentEvent].
func Unwrap(data []byte) (around []SubagentEvent, ev Event, err error) {
	for {
		if ev, err = Decode(data); err != nil {
			return nil, nil, err
		}
		envelope, ok := ev.(SubagentEvent)
		if !ok {
			return around, ev, nil
		}
		around, data = append(around, envelope), envelope.Event
	}
}

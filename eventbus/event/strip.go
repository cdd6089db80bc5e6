package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Strip removes the outer depth envelopes of an event.
func Strip(raw []byte, depth int) (json.RawMessage, error) {
	if inner, ok := cut(raw, depth); ok {
		return inner, nil
	}
	for range depth {
		var env SubagentEvent
		if err := json.Unmarshal(raw, &env); err != nil {
			return nil, fmt.Errorf("opening an envelope: %w", err)
		}
		if env.Event == nil {
			return nil, errors.New("opening an envelope: it contains no event")
		}
		raw = env.Event
	}
	return raw, nil
}

// The parts of an envelope in the form that [Path.Envelope] gives it.
var (
	envelopeType    = []byte(`{"type":"subagent_event","agentType":"`)
	envelopeSession = []byte(`","sessionId":"`)
	envelopeEvent   = []byte(`","event":`)
)

// cut is Strip without a copy, for envelopes of exactly our own form. The part between that
// beginning and the last byte is the event if it is JSON by itself.
func cut(raw []byte, depth int) (inner []byte, ok bool) {
	inner = raw
	for range depth {
		rest, ok := bytes.CutPrefix(inner, envelopeType)
		if !ok {
			return nil, false
		}
		if rest, ok = afterString(rest, envelopeSession); !ok {
			return nil, false
		}
		if rest, ok = afterString(rest, envelopeEvent); !ok {
			return nil, false
		}
		if inner, ok = bytes.CutSuffix(rest, []byte("}")); !ok {
			return nil, false
		}
	}
	if depth == 0 {
		return inner, true
	}
	return bytes.Trim(inner, " \t\r\n"), json.Valid(inner) // blanks are not of the event
}

// afterString returns what follows a string and next. raw begins after the opening quote, and
// next with the closing one. It knows strings without escapes.
func afterString(raw, next []byte) (rest []byte, ok bool) {
	for i, c := range raw {
		switch {
		case c == '"':
			return bytes.CutPrefix(raw[i:], next)
		case c == '\\', c < ' ', c >= 0x80:
			return nil, false
		}
	}
	return nil, false
}

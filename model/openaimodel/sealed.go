package openaimodel

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/agentworker/worker/model"
)

// sealed is what a provider wants back with an answer, as it came. It is kept as the signature of
// a block of reasoning.
type sealed struct {
	Details []json.RawMessage `json:"details,omitempty"` // OpenRouter's reasoning_details
	Opaque  string            `json:"opaque,omitempty"`  // Copilot's reasoning_opaque
	Calls   []json.RawMessage `json:"calls,omitempty"`   // Gemini's extra_content of each tool call; null means none
}

// mark begins the signatures of this adapter.
const mark = `{"chat":`

// add takes what is sealed in a delta. Pieces of a detail, which have the same index, are joined.
func (s *sealed) add(d *delta) {
	s.Opaque = cmp.Or(d.Opaque, s.Opaque)
	for _, next := range d.Details {
		if n := len(s.Details); n > 0 {
			if joined := join(s.Details[n-1], next); joined != nil {
				s.Details[n-1] = joined
				continue
			}
		}
		s.Details = append(s.Details, next)
	}
}

// join returns two pieces of one detail as one; nil means that they are two details.
func join(before, after json.RawMessage) json.RawMessage {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(before, &a) != nil || json.Unmarshal(after, &b) != nil || a["index"] == nil ||
		!bytes.Equal(a["index"], b["index"]) || !bytes.Equal(a["type"], b["type"]) {
		return nil
	}
	for name, value := range b {
		switch name {
		case "text", "summary", "data":
			var first, second string
			_ = json.Unmarshal(a[name], &first) // null is empty
			_ = json.Unmarshal(value, &second)
			value = encoded(first + second)
		default:
			if string(value) == "null" {
				continue
			}
		}
		a[name] = value
	}
	return encoded(a)
}

// encoded returns the JSON of a value, with its characters as they are.
func encoded(value any) json.RawMessage {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(value) != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimSpace(out.Bytes())
}

// with returns the signature of an answer; empty means that nothing is wanted back.
func (s *sealed) with(extras []json.RawMessage) string {
	for _, extra := range extras {
		if extra != nil {
			s.Calls = extras
		}
	}
	if len(s.Details) == 0 && s.Opaque == "" && s.Calls == nil {
		return ""
	}
	return mark + string(encoded(s)) + "}"
}

// sealedIn returns what is sealed in a message; the zero value means nothing.
func sealedIn(msg model.Message) (s sealed) {
	for _, r := range msg.Reasoning {
		if inner, ok := strings.CutPrefix(r.Signature, mark); ok {
			_ = json.Unmarshal([]byte(strings.TrimSuffix(inner, "}")), &s) // its own
		}
	}
	return s
}

// unsigned is what Gemini takes where another model has made a call, which has no signature.
var unsigned = json.RawMessage(`{"google":{"thought_signature":"skip_thought_signature_validator"}}`)

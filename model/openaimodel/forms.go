package openaimodel

import (
	"bytes"
	"encoding/json"
	"strings"
)

// content is what a model says or thinks: a text, an object with one, or a list of parts.
type content struct{ text, thought string }

// UnmarshalJSON implements [json.Unmarshaler]. An unknown form says nothing.
func (c *content) UnmarshalJSON(data []byte) error {
	var parts []content
	var part struct {
		Type                             string
		Text, Content, Thinking, Summary content
	}
	switch {
	case json.Unmarshal(data, &c.text) == nil:
	case json.Unmarshal(data, &parts) == nil:
		for _, p := range parts {
			c.text, c.thought = c.text+p.text, c.thought+p.thought
		}
	case json.Unmarshal(data, &part) == nil:
		said, thought := part.Text.text+part.Content.text, part.Thinking.text+part.Summary.text
		thought += part.Text.thought + part.Content.thought + part.Thinking.thought + part.Summary.thought
		if strings.Contains(part.Type, "thinking") || strings.Contains(part.Type, "reasoning") {
			said, thought = "", said+thought
		}
		c.text, c.thought = said, thought
	}
	return nil
}

// callDeltas are pieces of tool calls: a list, or one of them by itself.
type callDeltas []callDelta

// UnmarshalJSON implements [json.Unmarshaler].
func (c *callDeltas) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		data = append(append([]byte("["), data...), ']')
	}
	return json.Unmarshal(data, (*[]callDelta)(c))
}

// raws are JSON values as they came.
type raws []json.RawMessage

// UnmarshalJSON implements [json.Unmarshaler]: what is no list is none of them.
func (r *raws) UnmarshalJSON(data []byte) error {
	_ = json.Unmarshal(data, (*[]json.RawMessage)(r))
	return nil
}

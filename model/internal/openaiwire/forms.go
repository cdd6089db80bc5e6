// Package openaiwire has the common parts of OpenAI's two APIs, Chat Completions and Responses.
// They are errors, values in all forms that servers send, and the parameters of each model.
package openaiwire

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Text is a string. null is empty, an object is its field text if it has one, and another JSON value is
// that value's text.
type Text string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Text) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, (*string)(t)) == nil {
		return nil
	}
	var object struct{ Text *string }
	if *t = Text(data); json.Unmarshal(data, &object) == nil && object.Text != nil {
		*t = Text(*object.Text)
	}
	return nil
}

// Number is a whole number, which some servers send as 1.0 or "1". What is none is 0.
type Number int64

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Number) UnmarshalJSON(data []byte) error {
	f, err := strconv.ParseFloat(string(bytes.Trim(data, `" `)), 64)
	if err == nil && f > 0 && f < 1<<53 {
		*n = Number(f)
	}
	return nil
}

// Says reports whether an error in a chunk is one: some servers send an empty one with each.
func Says(sent json.RawMessage) bool {
	switch string(bytes.Join(bytes.Fields(sent), nil)) {
	case "", "null", "{}", "[]", `""`, "false":
		return false
	}
	return true
}

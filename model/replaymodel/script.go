package replaymodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agentworker/worker/model"
)

// Script is a list of turns. The package documentation says what they mean and
// which one answers a request.
type Script []Turn

// Turn is one scripted answer.
type Turn struct {
	Match     Match            `json:"match,omitzero"`
	Reasoning Chunks           `json:"reasoning,omitempty"`
	Signature string           `json:"signature,omitempty"`
	Redacted  string           `json:"redacted,omitempty"`
	Text      Chunks           `json:"text,omitempty"`
	ToolCalls []ToolCall       `json:"toolCalls,omitempty"`
	Usage     *model.Usage     `json:"usage,omitempty"`
	Stop      model.StopReason `json:"stop,omitempty"`
	Error     *Failure         `json:"error,omitempty"`
	Hang      bool             `json:"hang,omitempty"`
	Cut       bool             `json:"cut,omitempty"`
	DelayMs   int              `json:"delayMs,omitempty"`
	Repeat    bool             `json:"repeat,omitempty"`
}

// Match is what a request must be like for a turn to answer it. The zero Match
// holds for every request.
type Match struct {
	System      string `json:"system,omitempty"`
	User        string `json:"user,omitempty"`
	Result      string `json:"result,omitempty"`
	Tool        string `json:"tool,omitempty"`
	NoToolCalls bool   `json:"noToolCalls,omitempty"`
}

// ToolCall is a scripted tool call.
type ToolCall struct {
	ID        string    `json:"id,omitempty"`
	Name      string    `json:"name"`
	Arguments Arguments `json:"arguments,omitempty"`
}

// Failure is a scripted error.
type Failure struct {
	Kind         model.ErrorKind `json:"kind,omitempty"`   // empty means by Status
	Status       int             `json:"status,omitempty"` // 0 means by Kind
	Message      string          `json:"message,omitempty"`
	RetryAfterMs int             `json:"retryAfterMs,omitempty"`
	Times        int             `json:"times,omitempty"` // 0 means every attempt fails
}

// Chunks is a text in pieces. Its JSON is a string or a list of strings.
type Chunks []string

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Chunks) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*c = Chunks{one}
		return nil
	}
	var many []string
	if json.Unmarshal(data, &many) != nil {
		return fmt.Errorf("a text is a string or a list of strings, not %s", data)
	}
	*c = many
	return nil
}

// String returns the text in one piece.
func (c Chunks) String() string { return strings.Join(c, "") }

// Arguments are the arguments of a tool call as the model writes them. Their
// JSON is an object, or a string with any text in it.
type Arguments string

// UnmarshalJSON implements [json.Unmarshaler].
func (a *Arguments) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*a = Arguments(text)
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return err
	}
	*a = Arguments(compact.String())
	return nil
}

// Parse reads a script. Errors name the line where the turn begins, and the
// turn; unknown fields are errors.
func Parse(data []byte) (Script, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	inArray := bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("["))
	if inArray {
		if _, err := dec.Token(); err != nil {
			return nil, err
		}
	}
	var script Script
	for {
		line := lineAt(data, dec.InputOffset())
		if inArray && !dec.More() {
			if _, err := dec.Token(); err != nil {
				return nil, fmt.Errorf("line %d: the list of turns does not end with ]", line)
			}
			if dec.More() {
				return nil, fmt.Errorf("line %d: text after the list of turns", lineAt(data, dec.InputOffset()))
			}
			break
		}
		var turn Turn
		err := dec.Decode(&turn)
		if errors.Is(err, io.EOF) && !inArray {
			break
		}
		if err == nil {
			err = turn.check()
		}
		if err == nil && script.repeats(turn.Match) {
			err = errors.New("cannot be reached: an earlier turn with the same match repeats")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: turn %d: %w", line, len(script)+1, err)
		}
		script = append(script, turn)
	}
	if len(script) == 0 {
		return nil, errors.New("the script has no turns")
	}
	return script, nil
}

// lineAt returns the line of the first value at or after an offset.
func lineAt(data []byte, offset int64) int {
	rest := bytes.TrimLeft(data[offset:], ", \t\r\n")
	return 1 + bytes.Count(data[:len(data)-len(rest)], []byte("\n"))
}

// repeats reports whether a turn of the group of m answers all later requests.
func (s Script) repeats(m Match) bool {
	for _, turn := range s {
		if turn.Match == m && turn.Repeat {
			return true
		}
	}
	return false
}

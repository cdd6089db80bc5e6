// Package toolcall reads the arguments of tool calls and writes their results, each
// within what its host takes.
package toolcall

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// The names of the tools that this door treats in a way of its own.
const (
	Task       = "task"
	TaskWait   = "task_wait"
	TaskResult = "task_result"
	TaskStop   = "task_stop"
	AgentsList = "agents_list"
)

// maxArgumentBytes bounds a call's arguments. Written as JSON within JSON
// they grow at most sevenfold, and stay below the 8 MiB of an event.
const maxArgumentBytes = 1 << 20

// Read decodes a call's arguments, an object, into v. It refuses fields that v does not have.
func Read(tool string, args json.RawMessage, v any) error { return decode(tool, args, v, true) }

// ReadSome is [Read] for a v that has only some of the fields.
func ReadSome(tool string, args json.RawMessage, v any) error { return decode(tool, args, v, false) }

func decode(tool string, args json.RawMessage, v any, all bool) error {
	if len(args) > maxArgumentBytes {
		return fmt.Errorf("the arguments of %s have %d bytes, more than %d: write long material to a file and name it in the prompt", tool, len(args), maxArgumentBytes)
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	if all {
		dec.DisallowUnknownFields()
	}
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("the arguments of %s: %w", tool, err)
	}
	return nil
}

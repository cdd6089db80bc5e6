package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/agentworker/worker/taskt"
)

// The names of the tools.
const (
	taskName       = "task"
	taskWaitName   = "task_wait"
	taskResultName = "task_result"
	taskStopName   = "task_stop"
	agentsListName = "agents_list"

	// maxArgumentBytes bounds a call's arguments. Written as JSON within JSON
	// they grow at most sevenfold, and stay below the 8 MiB of an event.
	maxArgumentBytes = 1 << 20
)

// parseInput reads a call's arguments. Whether they make sense is for the
// service to say.
func parseInput(args json.RawMessage) (taskt.Input, error) {
	var in taskt.Input
	if len(args) == 0 {
		return in, nil // a call without arguments
	}
	err := readArguments(taskName, args, &in)
	return in, err
}

// readArguments reads a call's arguments, an object, into v.
func readArguments(tool string, args json.RawMessage, v any) error {
	return decodeArguments(tool, args, v, true)
}

// readAmong reads some of a call's arguments into v.
func readAmong(tool string, args json.RawMessage, v any) error {
	return decodeArguments(tool, args, v, false)
}

func decodeArguments(tool string, args json.RawMessage, v any, all bool) error {
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

package store

import (
	"encoding/json"
	"fmt"
)

// kind is a kind of thing that is stored, with the version of its form.
type kind struct {
	name   string
	schema int // the one that is written

	// steps bring a stored form to the next version: the step at i that of
	// schema i+1 to i+2. nil means the older form can be read as it is.
	steps []func(map[string]json.RawMessage) error
}

var (
	recordKind        = &kind{"session", RecordSchema, []func(map[string]json.RawMessage) error{closeEnded, nil, nil, nil}}
	storedMessageKind = &kind{"message", messageSchema, []func(map[string]json.RawMessage) error{nil}}
)

// closeEnded: schema 1 had records of before the field "closed", of which the
// ended ones have their session_end.
func closeEnded(record map[string]json.RawMessage) error {
	if _, ok := record["closed"]; ok {
		return nil
	}
	var status Status
	if err := json.Unmarshal(record["status"], &status); err != nil {
		return fmt.Errorf("its status: %w", err)
	}
	closed, err := json.Marshal(status.Ended())
	record["closed"] = closed
	return err
}

// migrate reads what was stored by this or an earlier version into to. What a
// later one has stored is refused.
func migrate(k *kind, data []byte, to any) error {
	var head struct {
		Schema int    `json:"schema"`
		ID     string `json:"id"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("reading a stored %s: %w", k.name, err)
	}
	what := k.name + " " + head.ID
	switch {
	case head.Schema > k.schema:
		return newer(what, head.Schema, k.schema)
	case head.Schema < 1:
		return fmt.Errorf("reading %s: it has no schema, so it is damaged or not the worker's; delete it in the store, or use another --state-dir", what)
	case head.Schema < k.schema:
		var err error
		if data, err = k.upgrade(data, head.Schema); err != nil {
			return fmt.Errorf("reading %s of schema %d: %w", what, head.Schema, err)
		}
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("reading %s: %w", what, err)
	}
	return nil
}

// upgrade takes a stored form of a schema through the steps to today's.
func (k *kind) upgrade(data []byte, schema int) ([]byte, error) {
	fields := make(map[string]json.RawMessage)
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	for ; schema < k.schema; schema++ {
		if step := k.steps[schema-1]; step != nil {
			if err := step(fields); err != nil {
				return nil, err
			}
		}
	}
	fields["schema"] = json.RawMessage(fmt.Sprint(k.schema))
	return json.Marshal(fields)
}

func newer(what string, has, known int) error {
	return fmt.Errorf("%s was stored by a newer worker (schema %d, this one knows up to %d): use that one, or another --state-dir", what, has, known)
}

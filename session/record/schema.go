package record

import (
	"encoding/json"
	"fmt"
)

// CheckSchema returns an error for what a worker of another schema has stored. what names
// it.
func CheckSchema(what string, has int) error {
	switch {
	case has == Schema:
		return nil
	case has < 1:
		return fmt.Errorf("reading %s: it has no schema, so it is damaged or not the worker's; delete it in the store, or use another --state-dir", what)
	}
	return fmt.Errorf("%s was stored by another version of the worker (schema %d, this one reads %d): use that version, or another --state-dir", what, has, Schema)
}

// Decode reads the stored form of a record.
func Decode(data []byte) (*Record, error) {
	r := new(Record)
	err := json.Unmarshal(data, r)
	if err == nil || r.ID != "" { // else it is not a record at all
		if err := CheckSchema("session "+r.ID, r.Schema); err != nil {
			return nil, err
		}
	}
	switch {
	case err == nil:
		return r, nil
	case r.ID == "":
		return nil, fmt.Errorf("reading a stored session: %w", err)
	}
	return nil, fmt.Errorf("reading session %s: %w", r.ID, err)
}

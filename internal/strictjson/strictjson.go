// Package strictjson decodes JSON that has one meaning only: no key twice, no key
// in other letters, nothing after the value.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Decode decodes a JSON object into the struct that into points to. What a reader of
// the JSON sees is what the struct holds: [json.Unmarshal] would take "COMMAND"
// for "command", and the last of two equal keys.
//
// raw must be one JSON object and nothing else. Its keys are those of the struct,
// spelled exactly as in its json tags, each at most once. The same holds for
// objects within it; in a map any key is allowed. An error names the wrong key, and
// into may then hold some of the values. Required values, ranges and the like are for a JSON
// Schema to check.
func Decode(raw json.RawMessage, into any) error {
	t := reflect.TypeOf(into)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("JSON is decoded into a pointer to a struct, not %T", into)
	}
	if err := checkJSON(raw); err != nil {
		return err
	}
	if !bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte{'{'}) {
		return errors.New("not a JSON object")
	}
	if err := checkKeys(raw, t.Elem()); err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// Check reports why raw is not one JSON value with one meaning: it is not
// JSON, something follows the value, or an object in it has a key twice.
func Check(raw []byte) error {
	if err := checkJSON(raw); err != nil {
		return err
	}
	return checkKeys(raw, nil)
}

// checkJSON refuses anything but one JSON value, and endless nesting.
func checkJSON(raw []byte) error {
	if json.Valid(raw) {
		return nil
	}
	var value json.RawMessage
	return json.Unmarshal(raw, &value)
}

// maxShownKey bounds the part of an unknown key that an error quotes, in bytes.
const maxShownKey = 64

func unknownKey(key string, fields map[string]field) error {
	known := slices.Sorted(maps.Keys(fields))
	for _, k := range known {
		if strings.EqualFold(k, key) {
			return fmt.Errorf("unknown key %q: spell it %q", key, k)
		}
	}
	if len(key) > maxShownKey {
		return fmt.Errorf("unknown key %.20q…, of %d bytes: there are %s", key, len(key), strings.Join(known, ", "))
	}
	return fmt.Errorf("unknown key %q: there are %s", key, strings.Join(known, ", "))
}

package tool

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

// DecodeArgs decodes the arguments of a call into the struct that into points
// to, and takes one meaning from them only: what people are shown of a call,
// and what the gate judges, is what runs. [json.Unmarshal] would take "COMMAND"
// for "command", and the last of two that are both there.
//
// raw must be one JSON object with nothing behind it. Its keys are those of the
// struct, spelt exactly as in its json tags, each at most once; the same holds
// for objects within, in which a map takes any key. An error names the key at
// fault, and into may then hold some of the arguments. Required arguments,
// ranges and the like are for the JSON Schema of the tool to check.
func DecodeArgs(raw json.RawMessage, into any) error {
	t := reflect.TypeOf(into)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("arguments are decoded into a pointer to a struct, not %T", into)
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

// CheckJSON reports why raw is not one JSON value with one meaning: it is not
// JSON, something follows the value, or an object in it has a key twice.
func CheckJSON(raw []byte) error {
	if err := checkJSON(raw); err != nil {
		return err
	}
	return checkKeys(raw, nil)
}

// checkJSON refuses what is not one JSON value, what is behind it, and nesting
// without end.
func checkJSON(raw []byte) error {
	if json.Valid(raw) {
		return nil
	}
	var whole json.RawMessage
	return json.Unmarshal(raw, &whole)
}

// maxShownKey bounds what is shown of a key that is not known, in bytes.
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

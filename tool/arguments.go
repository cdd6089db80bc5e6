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
	var whole json.RawMessage // refuses what is behind the value, and nesting without end
	if err := json.Unmarshal(raw, &whole); err != nil {
		return err
	}
	if !bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte{'{'}) {
		return errors.New("not a JSON object")
	}
	if err := checkKeys(json.NewDecoder(bytes.NewReader(raw)), t.Elem()); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// CheckJSON reports what keeps raw from being one JSON value with one meaning:
// that it is none, that something stands behind it, or that a key of an object
// in it is given twice.
func CheckJSON(raw []byte) error {
	var whole json.RawMessage // refuses what is behind the value, and nesting without end
	if err := json.Unmarshal(raw, &whole); err != nil {
		return err
	}
	return checkKeys(json.NewDecoder(bytes.NewReader(raw)), nil)
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// checkKeys reads the next value from d, which is to be decoded into a t, and
// checks the keys of its objects. t is nil where any keys will do.
func checkKeys(d *json.Decoder, t reflect.Type) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil && (t.Kind() == reflect.Interface || reflect.PointerTo(t).Implements(unmarshaler)) {
		t = nil
	}
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return checkObject(d, t)
	case json.Delim('['):
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			t = t.Elem()
		} else {
			t = nil
		}
		for d.More() {
			if err := checkKeys(d, t); err != nil {
				return err
			}
		}
		_, err = d.Token()
	}
	return err
}

// checkObject is checkKeys for an object that has just begun.
func checkObject(d *json.Decoder, t reflect.Type) error {
	var known map[string]reflect.Type // nil: any
	var value reflect.Type
	switch {
	case t == nil:
	case t.Kind() == reflect.Struct:
		known = fieldTypes(t)
	case t.Kind() == reflect.Map:
		value = t.Elem()
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if seen[key] {
			return fmt.Errorf("key %.64q is given twice: give it once", key)
		}
		seen[key] = true
		if known != nil {
			var ok bool
			if value, ok = known[key]; !ok {
				return unknownKey(key, slices.Sorted(maps.Keys(known)))
			}
		}
		if err := checkKeys(d, value); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// maxShownKey bounds what is shown of a key that is not known, in bytes.
const maxShownKey = 64

func unknownKey(key string, known []string) error {
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

// fieldTypes returns the JSON names of the fields of a struct, with their types.
func fieldTypes(t reflect.Type) map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		if tag == "-" || !f.IsExported() || f.Anonymous && name == "" {
			continue // of an embedded struct, the fields follow
		}
		if name == "" {
			name = f.Name
		}
		types[name] = f.Type
	}
	return types
}

package strictjson

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// checkKeys checks the keys of all objects in a JSON value that will be decoded
// into a t. A nil t allows any key.
func checkKeys(raw []byte, t reflect.Type) error {
	w := keyWalk{raw: raw}
	return w.value(t)
}

// keyWalk walks through a JSON value that is valid.
type keyWalk struct {
	raw []byte
	at  int
}

// peek returns the next byte that is no white space.
func (w *keyWalk) peek() byte {
	for strings.IndexByte(" \t\r\n", w.raw[w.at]) >= 0 {
		w.at++
	}
	return w.raw[w.at]
}

// next reports whether another element follows, and steps over the comma before
// it, or over the end.
func (w *keyWalk) next(end byte) bool {
	switch w.peek() {
	case end:
		w.at++
		return false
	case ',':
		w.at++
	}
	return true
}

// text steps over a string, and returns it with its quotes.
func (w *keyWalk) text() []byte {
	start := w.at
	for w.at++; w.raw[w.at] != '"'; w.at++ {
		if w.raw[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	return w.raw[start:w.at]
}

// value steps over a value.
func (w *keyWalk) value(t reflect.Type) error {
	t = decodedAs(t)
	switch w.peek() {
	case '{':
		return w.object(t)
	case '[':
		w.at++
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			t = t.Elem()
		} else {
			t = nil
		}
		for w.next(']') {
			if err := w.value(t); err != nil {
				return err
			}
		}
	case '"':
		w.text()
	default: // a number, or a name such as true
		for w.at < len(w.raw) && strings.IndexByte(" \t\r\n,]}", w.raw[w.at]) < 0 {
			w.at++
		}
	}
	return nil
}

// object steps over an object.
func (w *keyWalk) object(t reflect.Type) error {
	var fields map[string]field // nil means any
	var value reflect.Type
	switch {
	case t == nil:
	case t.Kind() == reflect.Struct:
		fields = fieldsOf(t)
	case t.Kind() == reflect.Map:
		value = t.Elem()
	}
	var seen keySet
	w.at++
	for w.next('}') {
		w.peek()
		raw := w.text()
		f, known := fields[string(raw[1:len(raw)-1])]
		key := f.name
		if !known { // it may be written with escapes
			if err := json.Unmarshal(raw, &key); err != nil {
				return err
			}
			f, known = fields[key]
		}
		if !seen.add(key) {
			return fmt.Errorf("key %.64q is given twice: give it once", key)
		}
		if fields != nil {
			if !known {
				return unknownKey(key, fields)
			}
			value = f.decoded
		}
		w.peek()
		w.at++ // the colon
		if err := w.value(value); err != nil {
			return err
		}
	}
	return nil
}

// keySet holds the keys of an object: few of them without a map.
type keySet struct {
	few  []string
	room [8]string
	many map[string]bool
}

// add reports whether key is new.
func (s *keySet) add(key string) bool {
	if s.many != nil {
		before := len(s.many)
		s.many[key] = true
		return len(s.many) > before
	}
	if slices.Contains(s.few, key) {
		return false
	}
	if s.few == nil {
		s.few = s.room[:0]
	}
	if len(s.few) < len(s.room) {
		s.few = append(s.few, key)
		return true
	}
	s.many = map[string]bool{key: true}
	for _, k := range s.few {
		s.many[k] = true
	}
	return true
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// decodedAs returns the type whose fields, elements or values a JSON value in a t
// has; nil means any.
func decodedAs(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil && (t.Kind() == reflect.Interface || reflect.PointerTo(t).Implements(unmarshaler)) {
		return nil
	}
	return t
}

// field is a field of a struct by its JSON name.
type field struct {
	name    string
	decoded reflect.Type
}

// structs has the result of fieldsOf by type.
var structs sync.Map // reflect.Type to map[string]field

// fieldsOf returns the fields of a struct by their JSON names.
func fieldsOf(t reflect.Type) map[string]field {
	if known, ok := structs.Load(t); ok {
		return known.(map[string]field)
	}
	fields := map[string]field{}
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		if tag == "-" || !f.IsExported() || f.Anonymous && name == "" {
			continue // of an embedded struct, the fields follow
		}
		if name == "" {
			name = f.Name
		}
		fields[name] = field{name, f.Type}
	}
	structs.Store(t, fields)
	return fields
}

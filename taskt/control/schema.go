package control

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// SchemaOf returns the JSON Schema of what a value of T is encoded as, for programs that
// read it: they have to expect more properties than it names. It panics if T has no JSON
// form.
func SchemaOf[T any]() json.RawMessage { return schemaOf(reflect.TypeFor[T]()) }

// OutputSchema returns the JSON Schema of the operation's answer, as [SchemaOf].
func (op *Operation) OutputSchema() json.RawMessage {
	return schemaOf(reflect.TypeOf(op.answer()).Elem())
}

// otherForms are the types whose JSON is not what their kind says.
var otherForms = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.Number]():     {Type: "number"},
	reflect.TypeFor[json.RawMessage](): {},
}

func schemaOf(t reflect.Type) json.RawMessage {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: otherForms})
	if err == nil {
		open(s)
		var data json.RawMessage
		if data, err = json.Marshal(s); err == nil {
			return data
		}
	}
	panic(fmt.Sprintf("the schema of %s: %v", t, err))
}

// open has objects take more properties than are named.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Properties != nil {
		s.AdditionalProperties = nil
	}
	for _, property := range s.Properties {
		open(property)
	}
	open(s.Items)
}

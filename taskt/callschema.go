package taskt

import (
	"encoding/json"
	"reflect"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// callSchema is the schema of a program's call: that of the tool for hosts, with what models
// are not shown.
var callSchema = sync.OnceValue(func() json.RawMessage {
	data, err := schema(nil, Presentation{AnyName: true})
	shown, all := new(jsonschema.Schema), (*jsonschema.Schema)(nil)
	if err == nil {
		err = json.Unmarshal(data, shown)
	}
	if err == nil {
		all, err = jsonschema.For[Input](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
			reflect.TypeFor[json.RawMessage](): {},
		}})
	}
	if err == nil {
		shown.Properties["agentType"].Description = "the agent that is to do it, by its name or an alias"
		for name, property := range all.Properties {
			if shown.Properties[name] == nil && name != "forkContext" { // a program has no conversation
				shown.Properties[name] = property
			}
		}
		data, err = json.Marshal(shown)
	}
	if err != nil { // constants and types of ours always have a JSON form
		panic(err)
	}
	return data
})

// CallSchema returns the JSON Schema of the calls of task that programs make, which name
// any agent.
func CallSchema() json.RawMessage { return callSchema() }

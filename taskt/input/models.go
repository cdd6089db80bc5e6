package input

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Models are the names of models, the best first, with commas between. In JSON they are such a
// text, or a list of names.
type Models string

// UnmarshalJSON implements [json.Unmarshaler].
func (m *Models) UnmarshalJSON(data []byte) error {
	var list []string
	if json.Unmarshal(data, &list) == nil {
		for _, name := range list {
			if strings.Contains(name, ",") || strings.TrimSpace(name) == "" {
				return errors.New("model: an item of the list is not one name of a model")
			}
		}
		*m = Models(strings.Join(list, ", "))
		return nil
	}
	if json.Unmarshal(data, (*string)(m)) != nil {
		return errors.New("model: write a name, or a list of names")
	}
	return nil
}

// modelsSchema is what programs may write.
func modelsSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Description: "the model of the subagent, by a name as agent files have it, or several as a failover, the best first; without it the one that is set for the agent",
		AnyOf:       []*jsonschema.Schema{{Type: "string"}, {Type: "array", Items: &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1)}}},
	}
}

package definition

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema returns the JSON Schema (2020-12) of an agent file's frontmatter, for
// editors and checks. Fields that it does not know are allowed. It accepts
// every frontmatter that is read without a warning. Exceptions are names of
// fields in another case, and misspellings that are corrected.
func Schema() (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{
		Schema:      "https://json-schema.org/draft/2020-12/schema",
		Title:       "Agent file",
		Description: "The frontmatter of an agent file.",
		Type:        "object",
		Properties:  map[string]*jsonschema.Schema{},
		Required:    []string{"description"},
		Defs:        map[string]*jsonschema.Schema{"action": words("allow", "ask", "deny")()},
	}
	for _, f := range fields {
		if f.value == nil {
			continue
		}
		for i, name := range f.Spellings {
			value := f.value()
			value.Description = f.about
			if i > 0 {
				value.Description = "Another spelling of " + f.Spellings[0] + ". " + f.about
			}
			if f.preset != nil {
				data, err := json.Marshal(f.preset)
				if err != nil {
					return nil, fmt.Errorf("making the schema, default of %s: %w", name, err)
				}
				value.Default = data
			}
			s.Properties[name] = value
			s.PropertyOrder = append(s.PropertyOrder, name)
		}
	}
	for _, name := range vocabulary.Field("known").Spellings {
		s.Properties[name] = &jsonschema.Schema{Description: "Known from other programs, without a meaning here; kept."}
		s.PropertyOrder = append(s.PropertyOrder, name)
	}
	if _, err := s.CloneSchemas().Resolve(nil); err != nil {
		return nil, fmt.Errorf("making the schema: %w", err)
	}
	return s, nil
}

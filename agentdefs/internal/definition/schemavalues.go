package definition

import "github.com/google/jsonschema-go/jsonschema"

func anyValue() *jsonschema.Schema { return &jsonschema.Schema{} }

func anyOf(s ...*jsonschema.Schema) *jsonschema.Schema { return &jsonschema.Schema{AnyOf: s} }

// text is a text; YAML writes some as numbers or truth values.
func text() *jsonschema.Schema {
	return &jsonschema.Schema{Types: []string{"string", "number", "boolean", "null"}}
}

func filledText() *jsonschema.Schema {
	return &jsonschema.Schema{Types: []string{"string", "number", "boolean"}, MinLength: jsonschema.Ptr(1)}
}

func nameSchema() *jsonschema.Schema {
	s := text()
	s.MaxLength = jsonschema.Ptr(maxName)
	s.Pattern = `^[^\x00-\x1f\x7f]*$`
	return s
}

func words(list ...string) func() *jsonschema.Schema {
	return func() *jsonschema.Schema {
		s := &jsonschema.Schema{Type: "string"}
		for _, word := range list {
			s.Enum = append(s.Enum, word)
		}
		return s
	}
}

// yesNo is true or false, in the spellings of YAML 1.1 too.
func yesNo() *jsonschema.Schema {
	return anyOf(
		&jsonschema.Schema{Type: "boolean"},
		words("true", "false", "yes", "no", "on", "off", "Yes", "No", "On", "Off", "YES", "NO", "ON", "OFF")(),
	)
}

// integer is a whole number from 1 to most; quoted, it counts as well.
func integer(most int) func() *jsonschema.Schema {
	return func() *jsonschema.Schema {
		return anyOf(
			&jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(1.0), Maximum: jsonschema.Ptr(float64(most))},
			&jsonschema.Schema{Type: "string", Pattern: `^\+?0*[1-9][0-9]*$`},
		)
	}
}

func upTo(most float64) func() *jsonschema.Schema {
	return func() *jsonschema.Schema {
		return anyOf(
			&jsonschema.Schema{Type: "number", Minimum: jsonschema.Ptr(0.0), Maximum: jsonschema.Ptr(most)},
			&jsonschema.Schema{Type: "string", Pattern: `^\+?[0-9]*\.?[0-9]+$`},
		)
	}
}

func textOrList() *jsonschema.Schema {
	return anyOf(text(), &jsonschema.Schema{Type: "array", Items: text()})
}

// listSchema is a list of agents' names, or such names in a text with commas.
func listSchema() *jsonschema.Schema {
	name := func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1), Pattern: `^[^*?]+$`}
	}
	return anyOf(name(), &jsonschema.Schema{Type: "array", Items: name()})
}

// namesSchema is a listSchema of one name at least.
func namesSchema() *jsonschema.Schema {
	s := listSchema()
	s.AnyOf[1].MinItems = jsonschema.Ptr(1)
	return s
}

// serversSchema is names of MCP servers, servers by their names, or a list of either.
func serversSchema() *jsonschema.Schema {
	return anyOf(text(), mappingSchema(), &jsonschema.Schema{Type: "array", Items: anyOf(text(), mappingSchema())})
}

func mappingSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "object"} }

// permissionSchema is the compact format: tools to actions, or to patterns with
// actions.
func permissionSchema() *jsonschema.Schema {
	action := func() *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/action"} }
	return anyOf(action(), &jsonschema.Schema{
		Type: "object",
		AdditionalProperties: anyOf(action(), &jsonschema.Schema{
			Type:                 "object",
			AdditionalProperties: action(),
		}),
	})
}

// toolListSchema is a list of names, or names in a text with commas or blanks.
func toolListSchema() *jsonschema.Schema {
	return anyOf(
		&jsonschema.Schema{Type: "string"},
		&jsonschema.Schema{Type: "array", Items: anyOf(&jsonschema.Schema{Type: "string"}, mappingSchema())},
	)
}

func toolsSchema() *jsonschema.Schema {
	s := toolListSchema()
	s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Type: "object", AdditionalProperties: yesNo()})
	return s
}

// budgetSchema is the text of a budget, or a mapping of its limits.
func budgetSchema() *jsonschema.Schema {
	limit := func() *jsonschema.Schema { return &jsonschema.Schema{Types: []string{"string", "number"}} }
	return anyOf(&jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1)}, &jsonschema.Schema{
		Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"tokens": limit(), "cost": limit(), "modelCalls": limit(), "toolCalls": limit(), "time": limit(),
			"then": words("ask", "stop")(),
		},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	})
}

package agentdefs

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaField says of a field what an editor should know. Its spellings are
// those of fields.go.
type schemaField struct {
	id    fieldID
	about string
	value func() *jsonschema.Schema // a new one for each spelling: a schema is a tree
	first any                       // the default; nil: none that could be written
}

// schemaFields are in the order in which an editor should offer them.
var schemaFields = []schemaField{
	{fieldName, "The agent's name, which a task call uses. Without it the file's name counts.", nameSchema, nil},
	{fieldDescription, "What the agent is good for, when to use it, and what comes back. The calling model chooses by this alone.", filledText, nil},
	{fieldMode, "subagent: run by the task tool. primary: run by a person. all: both.", words(string(Subagent), string(Primary), string(All)), string(Subagent)},
	{fieldMaxSteps, "Model calls that may use tools; then one more concludes.", whole(MaxMaxSteps), DefaultMaxSteps},
	{fieldPermission, "What the agent may do: tools, or globs of such, to actions, or to patterns with actions. The last rule that matches decides.", permissionSchema, nil},
	{fieldModel, "The model, or several of which the first that is known counts. inherit: the caller's.", textOrList, "inherit"},
	{fieldTemperature, "Sampling temperature.", upTo(2), nil},
	{fieldTopP, "Nucleus sampling.", upTo(1), nil},
	{fieldMaxOutputTokens, "The most tokens of one answer of the model.", whole(1 << 30), nil},
	{fieldEffort, "How much the model reasons, in the words of its provider.", text, nil},
	{fieldTimeoutSeconds, "Time limit of the whole run, in seconds.", whole(24 * 60 * 60), nil},
	{fieldTimeoutMinutes, "Time limit of the whole run, in minutes.", whole(24 * 60), nil},
	{fieldAliases, "Other names that a task call may use: a list, or a text with commas.", textOrList, nil},
	{fieldCaller, "Who may call the agent: names of agents, or host for a caller that is none. Without it: anybody.", callerSchema, nil},
	{fieldInspectable, "Whether the model that called the agent may look into the transcript of the run.", yesNo, true},
	{fieldHidden, "Left out of lists and of what callers are offered; a call may name it.", yesNo, false},
	{fieldOutput, "JSON Schema that the result must satisfy; it may not refer to itself.", mappingSchema, nil},
	{fieldBackground, "Started in the background unless the call says otherwise. Without effect yet.", yesNo, false},
	{fieldColor, "For display.", text, nil},
	{fieldPrompt, "The prompt, where there is no text below the frontmatter.", text, nil},
	{fieldTools, "The tools that the agent may use, and no others: names, also those of other programs; or a mapping of tools to true and false.", toolsSchema, nil},
	{fieldDisallowedTools, "Tools that the agent may not use.", toolList, nil},
	{fieldPermissionMode, "Claude Code's mode. plan denies writing and commands, dontAsk denies what would be asked about; modes that widen are ignored.", words("default", "manual", "plan", "dontAsk", "acceptEdits", "auto", "bypassPermissions"), "default"},
	{fieldApprovalMode, "Qwen Code's mode. plan denies writing and commands; modes that widen are ignored.", words("default", "plan", "auto-edit", "yolo"), "default"},
	{fieldSandboxMode, "Codex's sandbox. read-only denies writing and asks about each command, workspace-write keeps writing within the workspace.", words("read-only", "workspace-write", "danger-full-access"), nil},
	{fieldReadonly, "Denies writing, and asks about each command.", yesNo, false},
	{fieldAgents, "Copilot's list of agents to call. Without a \"*\" in it the agent may call none.", anyValue, nil},
	{fieldDisable, "Switches the agent off.", yesNo, false},
	{fieldNoModelCall, "No model may call the agent: it is a primary.", yesNo, false},
	{fieldInfer, "false: no model may call the agent, it is a primary.", yesNo, true},
}

// Schema returns the JSON Schema (2020-12) of an agent file's frontmatter, for
// editors and checks. Fields that it does not know are allowed. It accepts
// every frontmatter that is read without a warning, but for names of fields in
// another case and slips of the pen that are forgiven.
func Schema() (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{
		Schema:      "https://json-schema.org/draft/2020-12/schema",
		Title:       "Agent file",
		Description: "The frontmatter of an agent file.",
		Type:        "object",
		Properties:  map[string]*jsonschema.Schema{},
		Required:    []string{spellings[fieldDescription][0]},
		Defs:        map[string]*jsonschema.Schema{"action": words("allow", "ask", "deny")()},
	}
	for _, f := range schemaFields {
		for i, name := range spellings[f.id] {
			value := f.value()
			value.Description = f.about
			if i > 0 {
				value.Description = "Another spelling of " + spellings[f.id][0] + ". " + f.about
			}
			if f.first != nil {
				data, err := json.Marshal(f.first)
				if err != nil {
					return nil, fmt.Errorf("making the schema, default of %s: %w", name, err)
				}
				value.Default = data
			}
			s.Properties[name] = value
			s.PropertyOrder = append(s.PropertyOrder, name)
		}
	}
	for _, name := range spellings[fieldKept] {
		s.Properties[name] = &jsonschema.Schema{Description: "Known from other programs, without a meaning here; kept."}
		s.PropertyOrder = append(s.PropertyOrder, name)
	}
	if _, err := s.CloneSchemas().Resolve(nil); err != nil {
		return nil, fmt.Errorf("making the schema: %w", err)
	}
	return s, nil
}

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

// whole is a whole number from 1 to most; quoted, it counts as well.
func whole(most int) func() *jsonschema.Schema {
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

func callerSchema() *jsonschema.Schema {
	name := func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1), Pattern: `^[^*?]+$`}
	}
	return anyOf(name(), &jsonschema.Schema{Type: "array", Items: name(), MinItems: jsonschema.Ptr(1)})
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

// toolList is a list of names, or names in a text with commas or blanks.
func toolList() *jsonschema.Schema {
	return anyOf(
		&jsonschema.Schema{Type: "string"},
		&jsonschema.Schema{Type: "array", Items: anyOf(&jsonschema.Schema{Type: "string"}, mappingSchema())},
	)
}

func toolsSchema() *jsonschema.Schema {
	s := toolList()
	s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Type: "object", AdditionalProperties: yesNo()})
	return s
}

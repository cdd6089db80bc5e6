package input

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/picture"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/tool"
)

const (
	descriptionHead = `Gives a task to a subagent, which works on it in a session of its own and answers once, at the end. ` +
		`It sees nothing of this conversation: the prompt must hold all it needs to know, and say what to report. `
	sideBySide      = "Several calls in one turn run side by side. "
	descriptionFoot = "What the subagent may do is limited by its permissions.\n\nAgents:\n"
)

// Presentation is how the task tool is shown to a caller.
type Presentation struct {
	// SideBySide says that the calls of one turn run side by side.
	SideBySide bool

	// AnyName leaves the agents out of the schema. It is for callers that refuse names
	// outside of an enum, such as an alias, a hidden agent or a new one.
	AnyName bool

	// OneAgent leaves agentType out, for a tool that calls one agent.
	OneAgent bool

	// Forks offers forkContext, for callers with a conversation.
	Forks bool
}

// Spec describes the task tool for a caller that is offered these agents.
func Spec(agents []*agentdefs.Definition, as Presentation) tool.Spec {
	return tool.Spec{
		Name:         toolcatalog.Task,
		Description:  describe(agents, as),
		InputSchema:  marshal(schema(agents, as)),
		Unavailable:  len(agents) == 0,
		OwnTimeLimit: true,
		Delegates:    true,
	}
}

// describe returns the tool's description, which lists the agents.
func describe(agents []*agentdefs.Definition, as Presentation) string {
	var b strings.Builder
	b.WriteString(descriptionHead)
	if as.SideBySide {
		b.WriteString(sideBySide)
	}
	b.WriteString(descriptionFoot)
	for _, a := range agents {
		fmt.Fprintf(&b, "- %s: %s\n", a.Name, strings.TrimSpace(a.Description))
	}
	return b.String()
}

// marshal returns the JSON of a schema: constants and types of ours always have one.
func marshal(s *jsonschema.Schema) json.RawMessage {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return data
}

// schema returns the schema of a call of these agents.
func schema(agents []*agentdefs.Definition, as Presentation) *jsonschema.Schema {
	names := make([]any, 0, len(agents))
	for _, a := range agents {
		names = append(names, a.Name)
	}
	agentType := &jsonschema.Schema{Type: "string", Enum: names, Description: "the agent that is to do it"}
	if as.AnyName {
		agentType.Enum, agentType.Description = nil, "the agent that is to do it, by its name or an alias: the description lists the agents"
	}
	s := &jsonschema.Schema{
		Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"description": {Type: "string", Description: "the task in 3 to 6 words, for people who follow along"},
			"prompt":      {Type: "string", MinLength: jsonschema.Ptr(1), Description: "the whole task: what to do, what is known, what to report"},
			"agentType":   agentType,
			"background":  {Type: "boolean", Description: "true: the call returns at once with a session id, and the subagent runs on while you do other work; task_wait waits for it"},
			"allowedTools": {Type: "array", Items: &jsonschema.Schema{Type: "string"},
				Description: "the only tools that the subagent shall have, by their names; no more than it has without"},
			"writeRoots": {Type: "array", Items: &jsonschema.Schema{Type: "string"},
				Description: "the only folders that the subagent may write in; those of subagents that run at once must not overlap"},
			"attachments": {Type: "array", Items: &jsonschema.Schema{Type: "string"}, MaxItems: jsonschema.Ptr(picture.MaxCall),
				Description: "pictures that the subagent is shown with the prompt: paths in the workspace (png, jpeg, gif, webp)"},
			"model":          {Type: "string", Description: "the model of the subagent, by a name that you know, or several with commas between, the best first; without it the one that is set for the agent"},
			"timeoutSeconds": {Type: "integer", Minimum: jsonschema.Ptr(1.0), Maximum: jsonschema.Ptr(MaxTime.Seconds()), Description: "how long the subagent may run; without it as long as is set for the agent"},
			"cwd":            {Type: "string", Description: "a folder of the workspace: the subagent has its files alone, and its commands begin there"},
		},
		PropertyOrder:        []string{"description", "prompt", "agentType", "background", "model", "timeoutSeconds", "cwd", "allowedTools", "writeRoots", "attachments"},
		Required:             []string{"description", "prompt", "agentType"},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	if as.OneAgent {
		delete(s.Properties, "agentType")
		isAgentType := func(name string) bool { return name == "agentType" }
		s.PropertyOrder, s.Required = slices.DeleteFunc(s.PropertyOrder, isAgentType), slices.DeleteFunc(s.Required, isAgentType)
	}
	if as.Forks {
		s.Properties["forkContext"] = &jsonschema.Schema{
			AnyOf: []*jsonschema.Schema{
				{Const: jsonschema.Ptr[any]("all")},
				{Type: "integer", Minimum: jsonschema.Ptr(1.0), Maximum: jsonschema.Ptr(float64(agentdefs.MaxForkTurns))},
			},
			Description: "all, or how many of its last turns: the subagent knows this conversation, and goes on from it; " +
				"for work that needs much of what you know. Without it, it sees nothing of it",
		}
		s.PropertyOrder = append(s.PropertyOrder, "forkContext")
	}
	return s
}

// CallSchema returns the JSON Schema of the calls that programs make. They name any agent,
// and have the fields that models are not shown.
var CallSchema = sync.OnceValue(func() json.RawMessage {
	s := schema(nil, Presentation{AnyName: true})
	s.PropertyOrder = nil
	s.Properties["agentType"].Description = "the agent that is to do it, by its name or an alias"
	s.Properties["model"] = modelsSchema()
	all, err := jsonschema.For[Input](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
	}})
	if err != nil {
		panic(err)
	}
	for name, property := range all.Properties {
		if s.Properties[name] == nil && name != "forkContext" { // a program has no conversation
			s.Properties[name] = property
		}
	}
	return marshal(s)
})

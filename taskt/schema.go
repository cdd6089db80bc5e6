package taskt

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/tool"
)

// Input is what a call of the task tool says.
type Input struct {
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	AgentType   string `json:"agentType"`
}

const descriptionHead = `Gives a task to a subagent, which works on it in a session of its own and answers once, at the end. ` +
	`It sees nothing of this conversation: the prompt must hold all it needs to know, and say what to report. ` +
	`Several calls in one turn run side by side. What the subagent may do is limited by its permissions.

Agents:
`

// describe returns the tool's text for the agents of a snapshot.
func describe(agents []*agentdefs.Definition) string {
	var b strings.Builder
	b.WriteString(descriptionHead)
	for _, a := range agents {
		fmt.Fprintf(&b, "- %s: %s\n", a.Name, strings.TrimSpace(a.Description))
	}
	return b.String()
}

// newSpec describes the task tool for a caller that is offered these agents.
func newSpec(agents []*agentdefs.Definition) tool.Spec {
	input, err := schema(agents)
	if err != nil { // strings and constants always have a JSON form
		panic(err)
	}
	return tool.Spec{
		Name:         toolName,
		Description:  describe(agents),
		InputSchema:  input,
		Unavailable:  len(agents) == 0,
		OwnTimeLimit: true,
	}
}

// schema returns the input's JSON Schema, whose agentType enum is the agents.
func schema(agents []*agentdefs.Definition) (json.RawMessage, error) {
	names := make([]any, 0, len(agents))
	for _, a := range agents {
		names = append(names, a.Name)
	}
	one := 1
	return json.Marshal(&jsonschema.Schema{
		Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"description": {Type: "string", Description: "the task in 3 to 6 words, for people who follow along"},
			"prompt":      {Type: "string", MinLength: &one, Description: "the whole task: what to do, what is known, what to report"},
			"agentType":   {Type: "string", Enum: names, Description: "the agent that is to do it"},
		},
		PropertyOrder:        []string{"description", "prompt", "agentType"},
		Required:             []string{"description", "prompt", "agentType"},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	})
}

// parseInput reads a call's arguments.
func parseInput(args json.RawMessage) (Input, error) {
	var in Input
	if err := tool.DecodeArgs(args, &in); err != nil {
		return in, fmt.Errorf("the arguments of task: %w", err)
	}
	switch {
	case strings.TrimSpace(in.AgentType) == "":
		return in, fmt.Errorf("the arguments of task lack agentType")
	case strings.TrimSpace(in.Prompt) == "":
		return in, fmt.Errorf("the arguments of task lack a prompt")
	}
	return in, nil
}

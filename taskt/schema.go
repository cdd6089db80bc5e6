package taskt

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/strictjson"
	"github.com/agentworker/worker/tool"
)

// Input is what a call of the task tool says.
type Input struct {
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	AgentType   string `json:"agentType"`

	// Background has the call return at once, while the subagent runs on; nil means as
	// the agent's file says.
	Background *bool `json:"background,omitempty"`

	// Detached has the subagent run in the background and go on when its caller ends.
	// It is for hosts: the schema does not show it to models, and they may not say it.
	Detached bool `json:"detached,omitempty" jsonschema:"true: the subagent runs in the background and goes on when its caller ends"`

	// Model is the model of the subagent, as an agent file may name it. Empty means that of the
	// file, of the settings, or of the caller. One that can't be had is passed over,
	// with a warning.
	Model string `json:"model,omitempty"`

	// Effort is how hard the model is to think: one of [model.Efforts]. Empty means as the
	// file says. One that is none is passed over, with a warning. The schema does not
	// have it.
	Effort string `json:"effort,omitempty" jsonschema:"how hard the model is to think: none, minimal, low, medium, high, xhigh or max"`

	// TimeoutSeconds is how long the subagent may run, 1 to 86,400; a file that
	// says less counts. 0 means as the file or the worker says.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`

	// Cwd is the folder of the workspace that the subagent is held to: its path there,
	// or an absolute one. Empty means all that its caller has.
	Cwd string `json:"cwd,omitempty"`

	// ForkContext has the subagent go on from the caller's conversation; nil means as the
	// agent's file says.
	ForkContext *ForkContext `json:"forkContext,omitempty"`

	// AllowedTools are the names of the tools that the subagent has, of those that it
	// would have without; nil means all of them. A name that no tool has is an error.
	AllowedTools []string `json:"allowedTools,omitempty"`

	// WriteRoots are the folders of the workspace, relative to Cwd or absolute, to
	// which the subagent's writing is held, and in which no other that names
	// some may write meanwhile. nil means wherever it may.
	WriteRoots []string `json:"writeRoots,omitempty"`

	// Checks are made after those of the agent's file. They are for programs: the
	// schema does not show them to models.
	Checks []agentdefs.Check `json:"checks,omitempty" jsonschema:"what must hold at the end besides the checks of the agent's file: commands that succeed, and paths that exist"`

	// Label names the subagent in lists, in place of the description. Metadata, a JSON
	// object, is kept with its session. They are for programs, as the budget is.
	Label    string          `json:"label,omitempty" jsonschema:"names the subagent in lists, in place of the description"`
	Metadata json.RawMessage `json:"metadata,omitempty" jsonschema:"a JSON object that is kept with the session"`

	// Cleanup says what becomes of the subagent's session: "keep", or "delete" once its
	// result was delivered. Empty means keep. It is for hosts and programs, as
	// Detached is.
	Cleanup string `json:"cleanup,omitempty" jsonschema:"keep or delete: what becomes of the session once its result was delivered"`

	// Traceparent is the caller's place in a trace, as package tracecontext lets it pass.
	// It comes with a request, and not with the arguments.
	Traceparent string `json:"-"`

	// ResidentFile is a file of the workspace whose content stands before the prompt: its
	// path there, or an absolute one. Empty means that of the agent's file. The schema does
	// not have it.
	ResidentFile string `json:"residentFile,omitempty" jsonschema:"a file of the workspace whose content stands before the prompt"`

	// Budget is what the subagent may use with all below it: the JSON of a [Budget].
	// It narrows what is set otherwise. The schema does not have it.
	Budget json.RawMessage `json:"budget,omitempty" jsonschema:"what the subagent may use with all below it: tokens, cost, modelCalls, toolCalls, time; a text or an object"`
}

const descriptionHead = `Gives a task to a subagent, which works on it in a session of its own and answers once, at the end. ` +
	`It sees nothing of this conversation: the prompt must hold all it needs to know, and say what to report. `

const (
	sideBySide      = "Several calls in one turn run side by side. "
	descriptionFoot = "What the subagent may do is limited by its permissions.\n\nAgents:\n"
)

// Presentation is how the task tool is presented to a caller.
type Presentation struct {
	// SideBySide says that the calls of one turn run side by side.
	SideBySide bool

	// AnyName leaves the agents out of the schema, for a caller that refuses what
	// an enum does not have: an alias, a hidden agent, a new one.
	AnyName bool

	// OneAgent leaves agentType out, for a tool that calls one agent.
	OneAgent bool

	forks bool // the caller has a conversation that a subagent may go on from
}

// presented is how the tool is put to hosts that do as the task tool says, and
// toModels to the models of sessions.
var (
	presented = Presentation{SideBySide: true}
	toModels  = Presentation{SideBySide: true, forks: true}
)

// describe returns the tool's text for the agents of a snapshot.
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

// newSpec describes the task tool for a caller that is offered these agents.
func newSpec(agents []*agentdefs.Definition, as Presentation) tool.Spec {
	input, err := schema(agents, as)
	if err != nil { // strings and constants always have a JSON form
		panic(err)
	}
	return tool.Spec{
		Name:         toolName,
		Description:  describe(agents, as),
		InputSchema:  input,
		Unavailable:  len(agents) == 0,
		OwnTimeLimit: true,
		Delegates:    true,
	}
}

// schema returns the input's JSON Schema, whose agentType enum is the agents,
// unless any name may stand there.
func schema(agents []*agentdefs.Definition, as Presentation) (json.RawMessage, error) {
	names := make([]any, 0, len(agents))
	for _, a := range agents {
		names = append(names, a.Name)
	}
	agentType := &jsonschema.Schema{Type: "string", Enum: names, Description: "the agent that is to do it"}
	if as.AnyName {
		agentType.Enum, agentType.Description = nil, "the agent that is to do it, by its name or an alias: the description lists the agents"
	}
	one, most := 1, float64(agentdefs.MaxForkTurns)
	s := &jsonschema.Schema{
		Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"description": {Type: "string", Description: "the task in 3 to 6 words, for people who follow along"},
			"prompt":      {Type: "string", MinLength: &one, Description: "the whole task: what to do, what is known, what to report"},
			"agentType":   agentType,
			"background":  {Type: "boolean", Description: "true: the call returns at once with a session id, and the subagent runs on while you do other work; task_wait waits for it"},
			"allowedTools": {Type: "array", Items: &jsonschema.Schema{Type: "string"},
				Description: "the only tools that the subagent shall have, by their names; no more than it has without"},
			"writeRoots": {Type: "array", Items: &jsonschema.Schema{Type: "string"},
				Description: "the only folders that the subagent may write in; those of subagents that run at once must not overlap"},
			"model":          {Type: "string", Description: "the model of the subagent, by a name that you know; without it the one that is set for the agent"},
			"timeoutSeconds": {Type: "integer", Minimum: jsonschema.Ptr(1.0), Maximum: jsonschema.Ptr(maxChildTime.Seconds()), Description: "how long the subagent may run; without it as long as is set for the agent"},
			"cwd":            {Type: "string", Description: "a folder of the workspace: the subagent has its files alone, and its commands begin there"},
		},
		PropertyOrder:        []string{"description", "prompt", "agentType", "background", "model", "timeoutSeconds", "cwd", "allowedTools", "writeRoots"},
		Required:             []string{"description", "prompt", "agentType"},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	if as.OneAgent {
		delete(s.Properties, "agentType")
		isAgentType := func(name string) bool { return name == "agentType" }
		s.PropertyOrder, s.Required = slices.DeleteFunc(s.PropertyOrder, isAgentType), slices.DeleteFunc(s.Required, isAgentType)
	}
	if as.forks {
		all := any("all")
		s.Properties["forkContext"] = &jsonschema.Schema{
			AnyOf: []*jsonschema.Schema{{Const: &all}, {Type: "integer", Minimum: jsonschema.Ptr(1.0), Maximum: &most}},
			Description: "all, or how many of its last turns: the subagent knows this conversation, and goes on from it; " +
				"for work that needs much of what you know. Without it, it sees nothing of it",
		}
		s.PropertyOrder = append(s.PropertyOrder, "forkContext")
	}
	return json.Marshal(s)
}

// parseInput reads a call's arguments.
func parseInput(args json.RawMessage) (Input, error) {
	var in Input
	if err := strictjson.Decode(args, &in); err != nil {
		return in, fmt.Errorf("the arguments of task: %w", err)
	}
	return in, in.check()
}

// maxListed bounds the lists of a call.
const maxListed = 100

// check reports what a call lacks.
func (in *Input) check() error {
	switch {
	case strings.TrimSpace(in.AgentType) == "":
		return errors.New("the arguments of task lack agentType")
	case strings.TrimSpace(in.Prompt) == "":
		return errors.New("the arguments of task lack a prompt")
	case in.Detached && in.Background != nil && !*in.Background:
		return errors.New("the arguments of task: a detached subagent runs in the background, and background is false")
	}
	switch {
	case in.AllowedTools != nil && len(in.AllowedTools) == 0:
		return errors.New("allowedTools of task is empty: name the tools, or leave it out for all that the agent has")
	case in.WriteRoots != nil && len(in.WriteRoots) == 0:
		return errors.New("writeRoots of task is empty: name the folders, or leave it out")
	case len(in.AllowedTools) > maxListed || len(in.WriteRoots) > maxListed:
		return fmt.Errorf("allowedTools and writeRoots of task may have %d entries each", maxListed)
	}
	if err := agentdefs.CheckAll(in.Checks); err != nil {
		return fmt.Errorf("the checks of task: %w", err)
	}
	if err := in.checkTerms(); err != nil {
		return fmt.Errorf("the arguments of task: %w", err)
	}
	_, err := readBudget(in.Budget)
	return err
}

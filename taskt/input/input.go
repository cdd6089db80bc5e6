// Package input is what a call of the task tool says: its fields, their JSON Schema, and the
// tool as models and hosts are shown it.
package input

import (
	"encoding/json"
	"fmt"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/picture"
	"github.com/agentworker/worker/session/conversation"
)

// Input is what a call of the task tool says.
type Input struct {
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	AgentType   string `json:"agentType"`

	// Attachments are pictures that the subagent's model is shown with the prompt: files of the
	// workspace, which the subagent has to be allowed to read, and what programs bring along.
	Attachments []picture.Attachment `json:"attachments,omitempty"`

	// Background makes the call return at once, while the subagent runs on. nil means as the
	// agent's file says.
	Background *bool `json:"background,omitempty"`

	// Detached runs the subagent in the background, beyond the end of its caller. Only hosts
	// may say it, so the schema for models does not have it.
	Detached bool `json:"detached,omitempty" jsonschema:"true: the subagent runs in the background and goes on when its caller ends"`

	// Model is the model of the subagent, by a name as agent files have it. Empty means that
	// of the file, of the settings, or of the caller. A model that can't be had is passed
	// over with a warning. Several are a failover, the best first.
	Model Models `json:"model,omitempty"`

	// Effort is how hard the model is to think: one of [model.Efforts]. Empty means as the
	// file says. Any other word is passed over with a warning. The schema for models does not
	// have it.
	Effort string `json:"effort,omitempty" jsonschema:"how hard the model is to think: none, minimal, low, medium, high, xhigh or max"`

	// TimeoutSeconds is how long the subagent may run, 1 to 86,400. A shorter time in the
	// file holds. 0 means as the file or the worker says.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`

	// Cwd is the folder of the workspace that the subagent is held to: its path there, or an
	// absolute one. Empty means all that its caller has.
	Cwd string `json:"cwd,omitempty"`

	// ForkContext starts the subagent from the caller's conversation. nil means as the
	// agent's file says.
	ForkContext *ForkContext `json:"forkContext,omitempty"`

	// AllowedTools are the names of the only tools that the subagent keeps. nil means all
	// of them. A name that no tool has is an error.
	AllowedTools []string `json:"allowedTools,omitempty"`

	// WriteRoots are the only folders in which the subagent may write, relative to Cwd or
	// absolute. Meanwhile no other subagent that names some may write there. nil means
	// every folder that its rules allow.
	WriteRoots []string `json:"writeRoots,omitempty"`

	// Checks are made after those of the agent's file. They are for programs, and the schema
	// for models does not have them.
	Checks []agentdefs.Check `json:"checks,omitempty" jsonschema:"what must hold at the end besides the checks of the agent's file: commands that succeed, and paths that exist"`

	// Label names the subagent in lists, instead of the description. Metadata, a JSON
	// object, is kept with its session. Both are for programs.
	Label    string          `json:"label,omitempty" jsonschema:"names the subagent in lists, in place of the description"`
	Metadata json.RawMessage `json:"metadata,omitempty" jsonschema:"a JSON object that is kept with the session"`

	// Cleanup is [Keep], or [Delete] to delete the subagent's session once its result was
	// delivered. Empty means Keep. Only hosts and programs may say it.
	Cleanup string `json:"cleanup,omitempty" jsonschema:"keep or delete: what becomes of the session once its result was delivered"`

	// Traceparent is the caller's place in a trace, as package tracecontext accepts it. It
	// comes with a request, not with the arguments.
	Traceparent string `json:"-"`

	// ResidentFile is a file of the workspace whose content stands before the prompt: its
	// path there, or an absolute one. Empty means that of the agent's file. The schema for
	// models does not have it.
	ResidentFile string `json:"residentFile,omitempty" jsonschema:"a file of the workspace whose content stands before the prompt"`

	// Budget is what the subagent and all below it may use, as [spendlimit.Limits] reads it.
	// It only narrows other budgets. The schema for models does not have it.
	Budget json.RawMessage `json:"budget,omitempty" jsonschema:"what the subagent may use with all below it: tokens, cost, modelCalls, toolCalls, time; a text or an object"`
}

// The values of [Input.Cleanup].
const (
	Keep   = "keep"
	Delete = "delete"
)

// ForkContext is how much of its caller's conversation a subagent starts from: a number of
// turns, or [conversation.AllTurns]; 0 means none. Its JSON is "all", "none" or the number.
type ForkContext int

// MarshalJSON implements [json.Marshaler].
func (f ForkContext) MarshalJSON() ([]byte, error) {
	switch f {
	case conversation.AllTurns:
		return []byte(`"all"`), nil
	case 0:
		return []byte(`"none"`), nil
	}
	return json.Marshal(int(f))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (f *ForkContext) UnmarshalJSON(data []byte) error {
	var n int
	switch string(data) {
	case `"all"`:
		*f = conversation.AllTurns
		return nil
	case `"none"`:
		*f = 0
		return nil
	}
	if err := json.Unmarshal(data, &n); err != nil || n < 1 || n > agentdefs.MaxForkTurns {
		return fmt.Errorf("forkContext is %.40s: write \"all\", or how many turns, 1 to %d", data, agentdefs.MaxForkTurns)
	}
	*f = ForkContext(n)
	return nil
}

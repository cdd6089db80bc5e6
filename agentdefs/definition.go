package agentdefs

import (
	"encoding/json"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/permission"
)

// Mode says where an agent may be used.
type Mode string

// The modes. A file that names none is a Subagent.
const (
	Primary  Mode = "primary"  // talks to a person; the task tool does not offer it
	Subagent Mode = "subagent" // run by the task tool
	All      Mode = "all"      // both
)

// Host is the caller that is no agent: a connected host, or the command line.
const Host = "host"

// Limits of the steps of one run, and what holds where a file is silent.
const (
	DefaultMaxSteps = 10
	MaxMaxSteps     = 1000
)

// Definition is one agent. It is immutable after loading and may be shared:
// a child keeps the definition it was started with while files change.
type Definition struct {
	Name        string
	Description string // what it is good for, as the calling model reads it
	Prompt      string // appended to the child's system prompt; may be empty
	Mode        Mode

	// Permission is never nil. Unless nesting is on, its last rule denies task.
	Permission *permission.Ruleset

	MaxSteps int    // 1 to MaxMaxSteps
	Model    string // as the file names it; empty: the caller's model

	Temperature     *float64      // nil: the model's default
	TopP            *float64      // nil: the model's default
	MaxOutputTokens int           // 0: the model's default
	Timeout         time.Duration // of the whole run; 0: the worker's default
	Effort          string        // reasoning effort, as written; empty: the model's default
	Background      bool          // started in the background unless the call says otherwise
	Hidden          bool          // left out of lists for people; a task call may name it
	Aliases         []string      // other names a task call may use
	Color           string        // for display, as written

	// Callers are the agents that a task call must come from, in lower case;
	// [Host] is whoever is no agent of ours. nil: any.
	Callers []string

	// Inspectable says that the model that called the agent may look into the
	// transcript of the run. People may always.
	Inspectable bool

	// Output is the JSON Schema that the result must satisfy; nil: any text.
	Output json.RawMessage

	// Fields holds what the file says beyond the above, in file order.
	Fields []Field

	File    string // as shown to people, slash-separated; empty: built in
	Line    int    // where the frontmatter begins, 1-based; 0: built in
	BuiltIn bool

	// Shadows is the File of the definition of the same name that this one
	// replaced, "built-in" for a built-in one, empty for none.
	Shadows string

	// Stale says that the file has since been changed to something that can't
	// be served, and this is what it held before.
	Stale bool
}

// callable reports whether the task tool offers d.
func (d *Definition) callable() bool { return d.Mode == Subagent || d.Mode == All }

// Field is a field of a file that has no meaning here, kept as written.
type Field struct {
	Name         string
	Line, Column int // of the name, 1-based

	node *yaml.Node // nil: its value could not be read
}

// Decode stores the field's value in v, as package yaml decodes it. A value
// that could not be read leaves v as it is.
func (f Field) Decode(v any) error {
	if f.node == nil {
		return nil
	}
	return f.node.Decode(v)
}

package definition

import (
	"encoding/json"
	"time"

	"github.com/agentworker/worker/agentdefs/internal/access"
	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/internal/spendlimit"
	"github.com/agentworker/worker/permission"
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

	Named []access.Named // the tools that its file allows by name

	// Servers are the MCP servers whose tools a run has. If it is nil, a run has the tools of all
	// configured servers.
	Servers *mcpconfig.Selection

	// Hooks are the hooks around what a run does. Those of the repository run once a person trusts
	// them.
	Hooks []*hookconfig.Hook

	MaxSteps  int      // 1 to MaxMaxSteps
	Model     string   // as the file names it; empty means the caller's model
	Fallbacks []string // models that answer once Model has failed, the best first

	Temperature     *float64      // nil means the model's default
	TopP            *float64      // nil means the model's default
	MaxOutputTokens int           // 0 means the model's default
	Timeout         time.Duration // of the whole run; 0 means the worker's default
	// Stall is after what time without an event a run has stalled; 0 means the worker's
	// default.
	Stall time.Duration

	// Budget is what a run may use at most, with all below it; nil means the file says nothing.
	Budget *spendlimit.Limits

	Effort     string   // reasoning effort, as written; empty means the model's default
	Background bool     // started in the background unless the call says otherwise
	Detached   bool     // so, and it goes on when its caller ends
	Hidden     bool     // left out of lists for people; a task call may name it
	Aliases    []string // other names a task call may use
	Color      string   // for display, as written

	// Callers are the agents that a task call must come from, in lower case;
	// [Host] is a caller that is not one of our agents. nil means any caller.
	Callers []string

	// CalledByAgent has the agent be told that an agent has called it, and no person.
	CalledByAgent bool

	// AllowAgents are the agents that this one may call, in lower case. If it
	// is nil, it may call all of them; if it is empty, none.
	AllowAgents []string

	// Inspectable says that a run is a row of its own in lists of sessions, to which its
	// result points. Else its transcript nests in that of its caller.
	Inspectable bool

	// Output is the JSON Schema that the result must satisfy; nil means any text.
	Output json.RawMessage

	// StopsUnanswered says that a run stops where nobody answers a question of the agent.
	StopsUnanswered bool

	// PlanExit is the agent as which a session of this one may go on, if a person allows
	// it; empty means none.
	PlanExit string

	// ResidentFile is a file of the workspace, slash-separated and relative to it, whose
	// content stands before the prompt of a run; empty means none.
	ResidentFile string

	// Memory says that the agent reads the memory of the workspace, and may add to it.
	Memory bool

	// Skills are the skills whose texts a run has from its start, by their names in small
	// letters.
	Skills []string

	// Worktree says that each run works in a git worktree of its own.
	Worktree bool

	// ForkContext is how many turns of its caller's conversation a run starts
	// with. 0 means none, and -1 all of them.
	ForkContext int

	// Checks are made by the worker before an answer is taken for the result.
	Checks []Check

	// Fields holds what the file says beyond the above, in file order.
	Fields []OtherField

	// Plugin is the plugin that has the file, whose name stands before the agent's and a colon;
	// empty means none.
	Plugin string

	File    string // as shown to people, slash-separated; empty means built in
	Line    int    // where the frontmatter begins, 1-based; 0 means built in
	BuiltIn bool

	// Shadows is the File of the definition of the same name that this one
	// replaced, "built-in" for a built-in one, empty for none.
	Shadows string

	// Stale says that the file has since become unusable, and that this is its
	// last good version.
	Stale bool
}

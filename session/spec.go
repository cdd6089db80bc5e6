package session

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/tool"
)

// Spec says what session to open.
type Spec struct {
	ID              string   // one of [store.NewID] or [store.NextRun]; empty means a new one
	Parent          *Session // nil means a root
	ParentMessageID string
	ParentCallID    string // the call of that message which opens the session
	Agent           string // empty means the session stands for a caller, and has no model
	Description     string
	System          string // the system prompt
	Label           string // names it in lists, in place of the description; may be empty

	// AskedBy is who asks for what a root does. Empty means it is not known.
	AskedBy store.Person

	// Metadata is a JSON object from the caller, which is kept with the session. It may
	// be nil.
	Metadata json.RawMessage

	// Traceparent is the caller's place in a trace: one of package tracecontext. It is kept
	// with the session, and with those below it that have none of their own. Empty means it
	// is the parent's.
	Traceparent string

	// Models are names of models, the best first. The first that can be had is the
	// session's: a warning says of those before why they can't. Where none can: the
	// parent's, or the default where that has none.
	Models []string

	// Router picks the model before the first call, in place of the parent's or of the
	// default. It is not asked where one of Models counts; nil means nobody is.
	Router Router

	Params Params

	Warnings []string // what is not as it was asked for: see [store.Record]

	// Lasting says that the session's caller makes call after call, as a connected
	// host does, or prompts it again and again. Where it is stopped, its calls are, and it is ended once they are
	// over; all others end with what they do.
	Lasting bool

	// CallerModel is the model that a caller brings along: that of its children
	// which name none. It is for sessions without an agent; may be nil.
	CallerModel Model

	// Nested is as in [store.Record].
	Nested bool

	// Fork is the conversation that the session goes on from, in place of System; nil means
	// it begins a new one.
	Fork *Fork

	Tools []tool.Tool

	// ToolSet is the same, made once for many sessions, in place of Tools.
	ToolSet *gate.ToolSet

	Compaction *Helper // nil means the conversation is not compacted near the end of [Options.Window]

	// Accept takes an answer of the model and returns what of it is the result
	// of a turn. With an error the model is told why, and answers again, twice
	// at most and within the turn's limits; then the turn fails with an
	// [UnacceptedError]. nil means any answer is the result.
	Accept func(answer string) (result string, err error)

	// AllowedTools are the names of the tools that the session has, and no others of
	// its set; those that follow one of them come with it. They hold for its
	// descendants, too. nil means all of the set.
	AllowedTools []string

	// Checks are made by the session once the model has given an answer that is
	// accepted: it is the result if they hold. The model gets one turn to repair what
	// does not, within the limits of the session; then the turn fails with an
	// [UnacceptedError] of a [ChecksError].
	Checks []Check

	// Rules is the agent's ruleset. It is judged together with those of the session's
	// ancestors: a child is never allowed more than its parent.
	Rules *permission.Ruleset

	// Paths is what paths of the session's tools are relative to, and Worktree the
	// git worktree that this is. nil means those of the parent, at last the workspace.
	Paths    *permission.Workspace
	Worktree *store.Worktree

	// ResidentFile stands before the first prompt: a file that read_file shows whole, by
	// its slash-separated path relative to Paths, without links. Other sessions with the
	// same one are warned of. Empty means none.
	ResidentFile string

	// Background says that the parent is told of the session's end by a message: by
	// [Session.Notify] or, where their process is killed before, by who ends them.
	Background bool

	// Detached says that the session goes on when its parent ends: whoever runs it
	// ends it, or a stop of its own.
	Detached bool

	// Cleanup says that the session is deleted once its result was delivered
	// ([store.Store.CleanUp]). Its parent stands for a caller.
	Cleanup bool

	// Resumes is what the session goes on with; nil means it begins anew. Terms is how it
	// is called, for who resumes it: its log has it ([store.State]).
	Resumes *Resumed
	Terms   json.RawMessage

	// Within are further rulesets that hold for the session, besides its agent's and
	// those of its ancestors.
	Within []*permission.Ruleset

	// Budget bounds the session and those below it; nil means what bounds the parent does.
	Budget Budget

	MaxSteps  int           // model calls with tools before it must conclude; 0 means 10
	TimeLimit time.Duration // 0 means no limit

	// WholeTime says that TimeLimit is of all that the session works, whatever agents it goes
	// on as; else each of them has its own.
	WholeTime bool

	// Stall is after what time without an event the session is said to have stalled,
	// and after what time more it is stopped. 0 means it is not stopped.
	Stall time.Duration

	// StallNotice is after what time without an event it is said to have stalled where
	// Stall is 0. 0 means never.
	StallNotice time.Duration

	Approver gate.Approver // nil means the manager's

	// Claimed is a session whose process has gone, and which this process has claimed: it goes
	// on, and what its record says counts. Task is which message of its conversation, in
	// Resumes, says what it is to do. nil means a new session begins.
	Claimed *store.Taken
	Task    int

	Mover Mover  // runs the session for a call that waits for its end: use [Task]
	child *Child // of a task call that waits for it; nil means none does
}

// allowedTools are those that the session may have, and those above it.
func (spec *Spec) allowedTools() []string {
	if spec.Parent == nil || spec.Parent.allowed == nil {
		return spec.AllowedTools
	}
	if spec.AllowedTools == nil {
		return spec.Parent.allowed
	}
	both := []string{}
	for _, name := range spec.AllowedTools {
		if slices.Contains(spec.Parent.allowed, name) {
			both = append(both, name)
		}
	}
	return both
}

// rulesets are those that hold for the session, and how many of them, at the end, are its
// agent's own.
func (spec *Spec) rulesets() (agents []*permission.Ruleset, own int) {
	if spec.Parent != nil {
		agents = slices.Clone(spec.Parent.calls.Rules.Agents())
	}
	if spec.Resumes != nil {
		agents = append(agents, spec.Resumes.Within...)
	}
	agents = append(agents, spec.Within...)
	if spec.Resumes != nil && spec.Resumes.Before != nil {
		agents = append(agents, spec.Resumes.Before)
		own++
	}
	if spec.Agent != "" {
		agents = append(agents, spec.Rules)
		own++
	}
	return agents, own
}

// callersModel is the model of the parent; nil means there is none.
func (spec *Spec) callersModel() model.Model {
	if spec.Parent == nil {
		return nil
	}
	return spec.Parent.agent.current()
}

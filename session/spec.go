package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/conversation"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/models"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/recovery"
	"github.com/agentworker/worker/session/toolset"
	"github.com/agentworker/worker/tool"
)

// Spec says what session to open.
type Spec struct {
	ID              string   // one of [record.NewID] or [record.ResumedID]; empty means a new one
	Parent          *Session // nil means a root
	ParentMessageID string
	ParentCallID    string // the call of that message which opens the session
	Agent           string // empty means a caller's session, which has no model
	Description     string
	System          string // the system prompt
	Label           string // its name in lists, if it has another one than Description

	AskedBy     record.Person   // the person who asks for the work of a root; empty means unknown
	Metadata    json.RawMessage // a JSON object from the caller, which is kept; may be nil
	Traceparent string          // the caller's place in a trace, as in package tracecontext; empty means the parent's
	Warnings    []string        // see [record.Record]

	// Models are names of models, the best first. The next one answers once one has failed. The session gets the first that is
	// available; a warning gives the reason for each that was passed over. If none is
	// available, it gets the parent's model, or the default.
	Models []string

	// Router picks the model before the first call if none of Models is available; nil means
	// that the parent's or the default stays.
	Router Router

	Params Params

	// CallerModel is the model that a caller brings along, for its children without Models. It
	// is for callers' sessions; may be nil.
	CallerModel Model

	// Lasting says that the session's caller makes call after call, like a connected host, or
	// prompts it again and again. If it is stopped, it ends after its calls; any other session
	// is ended by its caller.
	Lasting bool

	Nested bool // as in [record.Record]

	Fork *Fork // the conversation with which the session begins, and its system prompt; may be nil

	// Resumes is the session that this one resumes; nil means none. Terms says how the session
	// is called, for whoever resumes it: its log has it ([log.State]).
	Resumes *Resumed
	Terms   json.RawMessage

	// Claimed is a session that this process has claimed after its own process had died: it is
	// resumed, and its record counts. Task is the index of its task among the messages of
	// Resumes. nil means a new session.
	Claimed *recovery.Claimed
	Task    int

	Tools   []tool.Tool
	ToolSet *toolset.Set // the same, made once for many sessions; nil means Tools

	// AllowedTools are the names of tools that the session and its descendants may have, with
	// the tools that follow them. nil means all of the set.
	AllowedTools []string

	// Rules is the agent's ruleset. It is decided on together with those of the session's
	// ancestors, so a child is never allowed more than its parent. Within are further
	// rulesets that hold for the session.
	Rules  *permission.Ruleset
	Within []*permission.Ruleset

	// Hooks are the hooks of the agent's file. Those around calls of tools hold for the
	// session's descendants, too.
	Hooks []*hookconfig.Hook

	Approver approval.Approver // nil means the manager's

	// Accept returns the result of a turn from an answer of the model. After an error the
	// model reads it and answers again, at most twice and within the turn's limits; then the
	// turn fails with an [UnacceptedError]. nil accepts any answer.
	Accept func(answer string) (result string, err error)

	// Checks are made once the model has given an accepted answer. If one fails, the model gets
	// one turn for repairs, within the session's limits; then the turn fails with an
	// [UnacceptedError] of a [ChecksError].
	Checks []Check

	// About returns what the workspace says about a file, by its slash-separated path relative to
	// Paths. Once a call has touched the file, the model is told what it was not told before. nil
	// means nothing.
	About func(path string) []conversation.Note

	Compaction *Helper // summarises near the end of [Options.Window]; nil means nobody does

	// Paths is what paths of the session's tools are relative to, and Worktree its git
	// worktree. nil means those of the parent, and for a root the workspace.
	Paths    *permission.Workspace
	Worktree *record.Worktree

	// ResidentFile is a file that read_file shows before the first prompt. Its path is
	// slash-separated, relative to Paths, and without links. The session is warned of others
	// with the same file. Empty means none.
	ResidentFile string

	// Background says that the parent gets a message about the session's end: by
	// [Session.Notify], or from the process that ends the session if its own has died.
	Background bool

	// Detached says that the session continues when its parent ends.
	Detached bool

	// Cleanup says that the session is deleted once its result was delivered
	// ([retention.Retention.CleanUp]). Its parent is a caller's session.
	Cleanup bool

	// Budget bounds the session and those below it; nil means that of the parent.
	Budget Budget

	MaxSteps  int           // model calls with tools before it must conclude; 0 means 10
	TimeLimit time.Duration // 0 means no limit

	// WholeTime says that TimeLimit is for all work of the session, whatever agents it
	// becomes; otherwise each of them has its own.
	WholeTime bool

	// Stall is the time without an event after which the session has stalled. It is stopped
	// after as long again. If Stall is 0, the session is not stopped, and has stalled after
	// StallNotice, or never.
	Stall       time.Duration
	StallNotice time.Duration

	move func(by string) error // to the background; nil means no task call waits for it
}

// Fork is the conversation with which a forked session begins. What its model is sent begins
// with the same bytes, so that a provider's cache of them holds. It is not changed.
type Fork struct {
	Turns    int // as in [Session.Fork]
	System   string
	Tools    []model.ToolSpec
	Messages []model.Message
	from     model.Model
}

// Resumed is a session whose conversation another one resumes. In a [Spec] with Claimed it is
// the session itself.
type Resumed struct {
	ID       string
	Path     event.Path     // its own: whoever has asked for it has asked for the new one, too
	Model    string         // the name of the model that has run it
	Messages []*log.Message // its conversation, with an outcome for each call
	FromStep int            // the last step of it that Messages have; 0 means all

	// MessageID is the id of the first prompt, which [Session.Send] then ignores; empty means
	// a new one.
	MessageID string

	// Within are rulesets of its ancestors that the new one may lack. Before is its own; nil
	// means none.
	Within []*permission.Ruleset
	Before *permission.Ruleset
}

// toolSet returns the tools of the spec.
func (spec *Spec) toolSet() (*toolset.Set, error) {
	if spec.ToolSet != nil {
		return spec.ToolSet, nil
	}
	return toolset.New(spec.Tools...)
}

// allowedTools are the tools that the session may have, as may those above it.
func (spec *Spec) allowedTools() []string {
	switch {
	case spec.Parent == nil || spec.Parent.allowed == nil:
		return spec.AllowedTools
	case spec.AllowedTools == nil:
		return spec.Parent.allowed
	}
	return slices.DeleteFunc(append([]string{}, spec.AllowedTools...), func(name string) bool { return !slices.Contains(spec.Parent.allowed, name) })
}

// rulesets returns the rulesets that hold for the session. The last ones, own, are its agent's.
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

// Ruling is what the rules that hold for a session say before it is opened.
type Ruling struct {
	layers  *gate.Layers
	allowed []string // nil means all
}

// Ruling returns what the rules say of the session of a spec.
func (m *Manager) Ruling(spec *Spec) (*Ruling, error) {
	var rules gate.Rules
	rules.Set(spec.rulesets())
	approver := spec.Approver
	if approver == nil {
		approver = m.p.calls.Approver
	}
	who := permission.Who{Agent: spec.Agent, Unattended: m.p.calls.Alone && !approval.Asks(approver)}
	layers, err := m.p.calls.Policy.Layers(&rules, who, spec.ID, nil)
	if err != nil {
		return nil, err
	}
	return &Ruling{layers, spec.allowedTools()}, nil
}

// Has reports whether the session may have the tool of a name: its call allows it, and not all
// calls of it are denied.
func (r *Ruling) Has(name string) bool {
	return (r.allowed == nil || slices.Contains(r.allowed, name)) && !r.layers.DeniesAll(name)
}

// Denied returns why a call that wants these values is denied, whoever is asked; nil means it
// is not.
func (r *Ruling) Denied(values ...permission.Value) error {
	if d := r.layers.Decide(values); d.Action == permission.Deny {
		return errors.New(r.layers.Reason(d))
	}
	return nil
}

// Forbidden returns why what needs no call is forbidden all the same: see
// [permission.Layers.Forbids].
func (r *Ruling) Forbidden(values ...permission.Value) error {
	if rule := r.layers.Forbids(values); rule != nil {
		return fmt.Errorf("denied by the rule %v (%s)", *rule, rule.Source)
	}
	return nil
}

// Withheld is Forbidden for what nobody is asked about: see [permission.Layers.Withholds].
func (r *Ruling) Withheld(values ...permission.Value) error {
	if rule := r.layers.Withholds(values); rule != nil {
		return fmt.Errorf("the rule %v (%s) does not let the agent read it", *rule, rule.Source)
	}
	return nil
}

// callersModel is the model of the parent.
func (spec *Spec) callersModel() models.Inherited {
	if spec.Parent == nil {
		return models.Inherited{}
	}
	return spec.Parent.agent.inherit()
}

// SplitModels returns the names of a list of models, "a, b".
func SplitModels(list string) (names []string) {
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

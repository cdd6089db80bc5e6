package session

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/price"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/policy"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/store"
)

// Options configures a [Manager].
type Options struct {
	Bus       *eventbus.Bus
	Workspace permission.Workspace
	Static    gate.StaticRules
	RulesFile string        // where Static is stored, for people
	Policy    *policy.Store // what an administrator forbids; nil means nothing

	// Model returns the model of a name; the empty name is the default's.
	Model func(name string) (model.Model, error)

	// Own returns the model of a name for an agent that has credentials of its own for
	// it; false: it has none, and gets that of Model. nil means no agent has any.
	Own func(agent, name string) (model.Model, bool, error)

	EndNotes store.EndNotes // of sessions that this process ends in place of others; nil means there are none

	Window func(name string) int64 // tokens of the context window of a model; 0 means not known. nil means of none

	// Approver answers what the rules ask, as does whoever calls [store.Store.Answer],
	// from whatever process; nil means only they do.
	Approver gate.Approver

	// Unattended says that nobody can answer: without an Approver a
	// call that the rules ask about is refused at once.
	Unattended bool

	// Alone says that nobody can be asked, with or without an Approver: there is neither
	// a terminal nor a door. Rules may have a condition for that; that calls wait does not
	// change it.
	Alone bool

	// Audit takes every decision of the gate, and the start and end of every session.
	// What it can't take is refused. nil means only the log has decisions.
	Audit *audit.Log

	// TakesOver says that this process goes on with sessions whose process has gone
	// ([Manager.AdoptWith]). Others then leave these to it.
	TakesOver bool

	// Retention says when ended sessions are deleted; the zero value: never.
	Retention store.Retention

	// Prices are those of the models. If it is nil, no price is known.
	Prices *price.Table

	Limits Limits
	Logger *slog.Logger // nil discards them
}

// Limits bound what a session does. A zero value means the default.
type Limits struct {
	ModelCall time.Duration // one model call; 120 s
	ToolCall  time.Duration // one call of a tool without a limit of its own; 30 s
	Approval  time.Duration // how long a call waits for an answer; 10 min

	// Pause is how long a session waits at most for a provider that has named a time
	// to ask it again, in one pause or several that follow each other; 30 min.
	Pause time.Duration

	// StepCalls bounds the tool calls of one step that run at once, but for those
	// of tools that delegate ([tool.Spec.Delegates]): 1 to 1,000; 16.
	StepCalls int
}

func (l Limits) withDefaults() Limits {
	if l.ModelCall == 0 {
		l.ModelCall = 120 * time.Second
	}
	if l.ToolCall == 0 {
		l.ToolCall = 30 * time.Second
	}
	if l.Approval == 0 {
		l.Approval = 10 * time.Minute
	}
	if l.Pause == 0 {
		l.Pause = 30 * time.Minute
	}
	if l.StepCalls == 0 {
		l.StepCalls = 16
	}
	return l
}

func (l Limits) check() error {
	if l.StepCalls < 1 || l.StepCalls > 1_000 {
		return fmt.Errorf("%d tool calls of one step at once are not within 1 and 1,000", l.StepCalls)
	}
	return nil
}

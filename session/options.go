package session

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/hooks"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/price"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/policy"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/hidden"
	"github.com/agentworker/worker/session/models"
	"github.com/agentworker/worker/session/outcome"
	"github.com/agentworker/worker/session/retention"
)

// Options configures a [Manager].
type Options struct {
	Bus        *eventbus.Bus
	Workspace  permission.Workspace
	Static     gate.StaticRules
	Repository gate.RepositoryRules // nil means none
	Settings   gate.SettingsRules   // nil means none
	RulesFile  string               // where Static is stored, for people

	// RulesByFlag says that people give rules with the command, by --allow: nothing is kept
	// of what they add to RulesFile.
	RulesByFlag bool

	Hooks *hooks.Runner // of people, around calls; nil means none

	// Reviewer names a model. It judges calls that rules ask about, before a person is asked;
	// empty means that none does.
	Reviewer string

	Policy *policy.Store // what an administrator forbids; nil means nothing

	// Model returns the model of a name; the empty name is the default's.
	Model func(name string) (model.Model, error)

	// Defaults are names of models for sessions that name none, the best first: the next one answers
	// once one has failed. Without any such sessions get the model of the empty name.
	Defaults []string

	// Own returns the model of a name with an agent's own credentials; false means that the
	// agent has none for it, and gets that of Model. A nil Own means that no agent has any.
	Own func(agent, name string) (model.Model, bool, error)

	EndNotes outcome.EndNotes // of sessions that this process ends after theirs has died; nil means none

	Window func(name string) int64 // tokens of a model's context window; 0, like a nil Window, means unknown

	// MaskForModel says that models read placeholders where the conversation has credentials. A
	// policy may demand it.
	MaskForModel bool

	Trained func(name string) bool // a model is trained for the tools of [tool.Spec.Trained]; nil means none is

	// Approver answers the questions of the rules. Answers also come by
	// [store.Store.Approvals.Pending.Answer], in any process; nil means only so.
	Approver approval.Approver

	// Unattended says that nobody can answer at this process. Without an Approver, a call
	// that the rules ask about is refused at once, unless somebody is Present elsewhere.
	Unattended bool

	// Present returns where somebody who may answer is connected to the workspace; "" means
	// nobody is. It is called only where Unattended. nil means nobody is ever waited for.
	Present func(ctx context.Context) (where string)

	// Alone says that there is neither a terminal nor a door, so nobody can be asked, whether
	// or not there is an Approver. Rules may have a condition for that.
	Alone bool

	// Audit takes every decision of the gate, and the start and end of every session. Calls
	// that it can't record are refused. nil means only the log has decisions.
	Audit *audit.Log

	// TakesOver says that this process resumes sessions of processes that have died
	// ([Manager.AdoptWith]). Others then leave these to it.
	TakesOver bool

	// Lease is how long this process may be silent before another one of the workspace ends or
	// resumes its sessions: [lease.MinDuration], which 0 means, to [lease.MaxDuration].
	Lease time.Duration

	// Retention says when ended sessions are deleted; the zero value: never.
	Retention retention.Limits

	// Prices are those of the models. If it is nil, no price is known.
	Prices *price.Table

	Limits Limits
	Logger *slog.Logger // nil discards them
}

// Limits bound what a session does. A zero value means the default.
type Limits struct {
	ModelCall  time.Duration // the silence of a model in one call; 120 s
	ModelTotal time.Duration // one model call as a whole; 30 min

	// Of returns the first two for a model of its name; 0 means those above. A nil Of means that all
	// models have the same.
	Of func(name string) (silence, total time.Duration)

	Retries  int           // of an answer of a model that failed for a short time; 10, negative means none
	ToolCall time.Duration // one call of a tool without a limit of its own; 30 s
	Approval time.Duration // the wait of a call for an answer; 10 min
	Pause    time.Duration // the waits, in a row, until a time that a provider has named for the next try; 30 min

	// StepCalls bounds the tool calls of one step that run at once, without those of tools
	// that delegate ([tool.Spec.Delegates]): 1 to 1,000; 16.
	StepCalls int
}

func (l Limits) withDefaults() Limits {
	l.ModelCall = cmp.Or(l.ModelCall, 120*time.Second)
	l.ModelTotal = cmp.Or(l.ModelTotal, 30*time.Minute)
	l.Retries = cmp.Or(l.Retries, 10)
	l.ToolCall = cmp.Or(l.ToolCall, 30*time.Second)
	l.Approval = cmp.Or(l.Approval, 10*time.Minute)
	l.Pause = cmp.Or(l.Pause, 30*time.Minute)
	l.StepCalls = cmp.Or(l.StepCalls, 16)
	return l
}

func (l Limits) check() error {
	if l.StepCalls < 1 || l.StepCalls > 1_000 {
		return fmt.Errorf("%d tool calls of one step at once are not within 1 and 1,000", l.StepCalls)
	}
	return nil
}

// ofModel returns those of a call of a model, which hides what hides does.
func (l *Limits) ofModel(of model.Model, hides *hidden.View) models.Limits {
	own := models.Limits{Hides: hides}
	if l.Of != nil {
		own.Silence, own.Total = l.Of(of.Name())
	}
	own.Silence, own.Total = cmp.Or(own.Silence, l.ModelCall), cmp.Or(own.Total, l.ModelTotal)
	return own
}

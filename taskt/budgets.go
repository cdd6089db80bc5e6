package taskt

import (
	"context"
	"slices"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/spendlimit"
	"github.com/agentworker/worker/model/price"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/budget"
)

// Budget is what a task and all below it may use. Its text and its JSON are those of
// docs/reference/limits.md.
type Budget = spendlimit.Limits

// BudgetAbove is a budget that an administrator has set.
type BudgetAbove struct {
	By     string // for people: its author and its place
	Limits Budget
}

// budgets makes the meters of sessions.
type budgets struct {
	sessions *store.Store
	agents   Agents
	limits   Budget // of a caller's task, or of a primary agent
	above    []BudgetAbove
	prices   *price.Table
}

// carried returns the budgets of a session that is resumed or claimed, with their usage. id is
// the id of the new session; empty means it is not open yet.
func (b *budgets) carried(ctx context.Context, from *resumption, parent *session.Session, id string) ([]budget.Set, error) {
	switch {
	case from == nil:
		return nil, nil
	case from.claimed != nil:
		return budget.Own(ctx, b.sessions, from.record.Path)
	}
	return budget.Carry(ctx, b.sessions, from.record.Path, parent.Path(), id)
}

// meter returns what bounds a session of def below parent, besides what bounds parent; nil
// means nothing does. Each of what was set counts: the narrowest one decides. parent nil means
// the session is a root.
func (b *budgets) meter(def *agentdefs.Definition, parent *session.Session, inCall Budget, carried []budget.Set) session.Budget {
	sets := carried
	add := func(by string, limits Budget) {
		again := func(set budget.Set) bool { return set.By == by && set.Limits == limits }
		if !limits.None() && !slices.ContainsFunc(carried, again) {
			sets = append(sets, budget.Set{By: by, Limits: limits})
		}
	}
	if parent == nil || parent.Agent() == "" {
		for _, above := range b.above {
			add(above.By, above.Limits)
		}
		add("--budget", b.limits)
	}
	if def.Budget != nil {
		add("the agent's file", *def.Budget)
	}
	if next, ok := b.agents.Snapshot().Agent(def.PlanExit); ok && next.Budget != nil { // the session may go on as that one
		add("the file of "+next.Name, *next.Budget)
	}
	add("the call", inCall)
	if len(sets) == 0 {
		return nil
	}
	var above *budget.Meter
	if parent != nil {
		above, _ = parent.Budget().(*budget.Meter)
	}
	return budget.New(above, b.prices, sets...)
}

// levelOf returns how much of its own budget a session has used. false means it has none.
func levelOf(s *session.Session) (event.Budget, bool) {
	m, ok := s.Budget().(*budget.Meter)
	if !ok || m == nil {
		return event.Budget{}, false
	}
	return m.Level(s.ID())
}

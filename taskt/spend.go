package taskt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/spendlimit"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/budget"
)

// Budget is what a task and all below it may use at most. Its text and its JSON are
// those of docs/reference/limits.md.
type Budget = spendlimit.Limits

// BudgetAbove is a budget that an administrator has set.
type BudgetAbove struct {
	By     string // for people: who has, and where
	Limits Budget
}

// ParseBudget reads the text of a budget.
func ParseBudget(text string) (Budget, error) { return spendlimit.Parse(text) }

// readBudget reads the budget of a call.
func readBudget(data json.RawMessage) (Budget, error) {
	var b Budget
	if len(data) == 0 || string(data) == "null" {
		return b, nil
	}
	if err := json.Unmarshal(data, &b); err != nil {
		return b, fmt.Errorf("the arguments of task: budget: %w", err)
	}
	return b, nil
}

// budget returns what bounds the child of a call, besides what bounds its parent; nil means
// nothing does. One that resumes another session has what is left of the budgets of that.
func (s *Service) budget(ctx context.Context, c *call) (session.Budget, error) {
	inCall, err := readBudget(c.in.Budget)
	if err != nil {
		return nil, err
	}
	var carried []budget.Set
	switch {
	case c.resumes == nil:
	case c.resumes.taken != nil:
		if carried, err = budget.Own(ctx, s.sessions.Store(), c.resumes.record.Path); err != nil {
			return nil, err
		}
	default:
		if carried, err = budget.Carry(ctx, s.sessions.Store(), c.resumes.record.Path, c.parent.Path(), ""); err != nil {
			return nil, err
		}
	}
	return s.meter(c.def, c.parent, inCall, carried), nil
}

// shares ends the child that was opened if another session has come to share its budget
// meanwhile: each of the two finds the other.
func (c *call) shares(ctx context.Context) error {
	if c.resumes == nil || c.resumes.taken != nil || c.child.Budget() == nil {
		return nil
	}
	_, err := budget.Carry(ctx, c.service.sessions.Store(), c.resumes.record.Path, c.parent.Path(), c.child.ID())
	if err == nil {
		return nil
	}
	return errors.Join(err, c.child.End(store.Failed, err))
}

// meter returns what bounds a session of def below parent. Each of what was set counts,
// so that the narrowest one decides. parent nil: it is a root.
func (s *Service) meter(def *agentdefs.Definition, parent *session.Session, inCall Budget, carried []budget.Set) session.Budget {
	sets := carried
	add := func(by string, limits Budget) {
		again := func(set budget.Set) bool { return set.By == by && set.Limits == limits }
		if !limits.None() && !slices.ContainsFunc(carried, again) {
			sets = append(sets, budget.Set{By: by, Limits: limits})
		}
	}
	if parent == nil || parent.Agent() == "" {
		for _, above := range s.above {
			add(above.By, above.Limits)
		}
		add("--budget", s.spend)
	}
	if def.Budget != nil {
		add("the agent's file", *def.Budget)
	}
	if next, ok := s.agents.Snapshot().Agent(def.PlanExit); ok && next.Budget != nil { // it may go on as that one
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
	return budget.New(above, s.prices, sets...)
}

// BudgetLevel returns how much of its own budget a session that runs in this process has
// used. false: it has none, or runs elsewhere.
func (s *Service) BudgetLevel(id string) (event.Budget, bool) {
	live, ok := s.sessions.Live(id)
	if !ok {
		return event.Budget{}, false
	}
	m, ok := live.Budget().(*budget.Meter)
	if !ok || m == nil {
		return event.Budget{}, false
	}
	return m.Level(id)
}

package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/store"
)

// Budget bounds what a session uses, and what those below it do. It is safe for
// concurrent use.
type Budget interface {
	// Own says whose budget it is.
	Own(sessionID string, owner BudgetOwner)

	// Begin says that the session begins to work, if it has not. Where it is to be
	// stopped at a time, that and the reason are returned.
	Begin(now time.Time) (deadline time.Time, why error)

	// Reserve sets aside what a model call may use. It waits for calls that are under
	// way where there is no room beside them. One of Settle and Release follows.
	Reserve(ctx context.Context, call ExpectedCall, ask AskBudget) (*Reservation, error)

	// Settle counts what the call has used. Where that is not known, it is what was
	// set aside.
	Settle(r *Reservation, used model.Usage)

	// Release says that the call has used nothing.
	Release(r *Reservation)

	// ReserveTools counts tool calls that are to be made.
	ReserveTools(ctx context.Context, n int, ask AskBudget) error

	// Left says in a line, to a model, what may still be used.
	Left() string
}

// BudgetOwner is the session that a budget is for.
type BudgetOwner interface {
	SayBudget(event.Budget)
	KeepBudget(state json.RawMessage) // stores what Own and answers make of it
}

// ExpectedCall is a model call that is to be made.
type ExpectedCall struct {
	Model         string
	Input, Output int64 // tokens: as they are estimated, and the most
}

// Reservation is what a model call may use.
type Reservation struct {
	Tokens int64
	Cost   model.USD
	Output int64 // how many of the tokens are for the answer
}

// AskBudget asks somebody whether a session may go on whose budget is used up. limit
// is what of it, and why says so in a sentence.
type AskBudget func(ctx context.Context, limit, why string) (goOn bool, err error)

// SayBudget implements [BudgetOwner].
func (s *Session) SayBudget(ev event.Budget) { s.publish(ev) }

// KeepBudget implements [BudgetOwner].
func (s *Session) KeepBudget(state json.RawMessage) { s.append(store.BudgetEntry(state)) }

// Budget returns what bounds the session: its own budget, or that of a session above
// it; nil means nothing does.
func (s *Session) Budget() Budget { return s.budget }

// defaultOutput is how many tokens an answer may have where there is a budget, and
// nobody has said how many.
const defaultOutput = 8192

// reserve sets aside what a call of a model may use, and bounds its answer. nil means there
// is no budget.
func (s *Session) reserve(ctx context.Context, m model.Model, req *model.Request) (*Reservation, error) {
	if s.budget == nil {
		return nil, nil
	}
	resume := s.HoldTime()
	r, err := s.budget.Reserve(ctx, ExpectedCall{
		Model: m.Name(), Input: s.counted.Estimate(req), Output: cmp.Or(int64(req.MaxOutputTokens), defaultOutput),
	}, s.askBudget)
	resume()
	if err != nil {
		return nil, err
	}
	req.MaxOutputTokens = int(r.Output)
	s.append(store.ReservedEntry(r.Tokens, int64(r.Cost)))
	if err := s.flush(ctx); err != nil { // what is called is known to have been begun
		s.budget.Release(r)
		return nil, err
	}
	return r, nil
}

// settle counts what a call has used that has ended with err.
func (s *Session) settle(r *Reservation, used *model.Usage, err error) {
	if r == nil {
		return
	}
	refused, ok := errors.AsType[*model.Error](err)
	switch {
	case ok && refused.Status >= 300: // it was not taken
		s.append(store.ReservedEntry(0, 0))
		s.budget.Release(r)
	case err != nil:
		s.budget.Settle(r, model.Usage{})
	default:
		s.budget.Settle(r, *used)
	}
}

// askBudget implements [AskBudget].
func (s *Session) askBudget(ctx context.Context, limit, why string) (bool, error) {
	if s.approver == nil && s.m.unattended {
		return false, nil
	}
	args, err := json.Marshal(map[string]string{"limit": limit})
	if err != nil {
		return false, err
	}
	a, err := s.ask(ctx, &gate.Request{
		ID: store.NewID("apr"), SessionID: s.id, ToolCallID: store.NewID("call"), Agent: s.Agent(),
		Tool: "budget", Arguments: string(args), Patterns: []string{limit}, AlwaysPatterns: []string{},
		Reason: fmt.Sprintf("%s. May it use as much again?", why),
	}, func() bool { return false })
	if err != nil {
		return false, err
	}
	s.status(event.StatusStreaming)
	return a.Outcome == event.Approved, nil
}

// within bounds the turn by the budget's time.
func (t *Turn) within() (stop func()) {
	if t.s.budget == nil {
		return func() {}
	}
	at, why := t.s.budget.Begin(time.Now())
	if at.IsZero() {
		return func() {}
	}
	timer := time.AfterFunc(time.Until(at), func() { t.bond.Cancel(why) })
	return func() { timer.Stop() }
}

// told is the prompt of the turn as the model reads it.
func (t *Turn) told() string {
	if t.s.budget == nil {
		return t.prompt
	}
	return t.prompt + "\n\n[" + t.s.budget.Left() + "]"
}

package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/journal"
	"github.com/agentworker/worker/session/lifetime"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
)

// Budget bounds what a session uses, and what those below it do. It is safe for
// concurrent use.
type Budget interface {
	// Own says whose budget it is.
	Own(sessionID string, owner BudgetOwner)

	// Begin notes that the session works. If the session may only work until some time, Begin
	// returns that time and the reason.
	Begin(now time.Time) (deadline time.Time, why error)

	// Reserve sets aside what a model call may use. If other calls leave no room, it waits
	// for them. Settle or Release follows.
	Reserve(ctx context.Context, call ExpectedCall, ask AskBudget) (*Reservation, error)

	// Settle counts what the call has used: what was set aside, if used is zero.
	Settle(r *Reservation, used model.Usage)

	// Release says that the call has used nothing.
	Release(r *Reservation)

	// ReserveTools counts tool calls before they are made.
	ReserveTools(ctx context.Context, n int, ask AskBudget) error

	// Left says in a line, to a model, what may still be used.
	Left() string
}

// BudgetOwner is the session that a budget is for.
type BudgetOwner interface {
	SayBudget(event.Budget)
	KeepBudget(state json.RawMessage) // stores what Own and answers make of it
}

// ExpectedCall is a model call before it is made.
type ExpectedCall struct {
	Model         string
	Input, Output int64 // tokens: as they are estimated, and the most

	// Usual is the answer that calls get side by side, in tokens. A longer one, up to Output, gets
	// at most a quarter of what is left. 0 means Output.
	Usual int64
}

// Reservation is what a model call may use.
type Reservation struct {
	Tokens int64
	Cost   model.USD
	Output int64 // how many of the tokens are for the answer
}

// AskBudget asks somebody whether a session may go on whose budget is used up. limit names
// what is used up, and why says it in a sentence.
type AskBudget func(ctx context.Context, limit, why string) (goOn bool, err error)

// budgetOwner is a session as the owner of its budget.
type budgetOwner struct{ log *journal.Journal }

// SayBudget implements [BudgetOwner].
func (o budgetOwner) SayBudget(ev event.Budget) { o.log.Publish(ev) }

// KeepBudget implements [BudgetOwner].
func (o budgetOwner) KeepBudget(state json.RawMessage) { o.log.Append(log.BudgetEntry(state)) }

// usage counts what a session uses, and keeps it within its budget. It is safe for concurrent
// use: the journal and the budget have locks of their own.
type usage struct {
	budget Budget // nil means nothing bounds the session
	totals *totals
	log    *journal.Journal
	life   *lifetime.Life
	ask    AskBudget

	mu    sync.Mutex
	below record.Total // of the sessions below that have ended
}

// addBelow counts what a session below, with those below it, has used by its end.
func (u *usage) addBelow(t record.Total) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.below = u.below.Add(t)
}

// total notes what the session has used, with those below it.
func (u *usage) total() (t record.Total) {
	u.mu.Lock()
	defer u.mu.Unlock()
	_ = u.log.Set(func(r *record.Record) { // one that is not its own any more ends elsewhere
		t = r.Own().Add(u.below)
		r.Total = &t
	})
	return t
}

// add counts a model call in the log, the record and the totals.
func (u *usage) add(used model.Usage) error {
	u.totals.add(used)
	u.log.Publish(event.Usage(used))
	return u.log.Update(func(r *record.Record) error {
		r.Steps++
		r.Usage = r.Usage.Add(used)
		return nil
	})
}

// usualOutput is how many tokens an answer may have where there is a budget, nobody has set
// another bound, and the model's own limit is not known.
const usualOutput = 8192

// reserve sets aside what a call of a model may use, and bounds its answer. The prompt has
// about so many tokens. It returns nil if there is no budget.
func (u *usage) reserve(ctx context.Context, m model.Model, req *model.Request, tokens int64) (*Reservation, error) {
	if u.budget == nil {
		return nil, nil
	}
	resume := u.life.Hold()
	call := ExpectedCall{Model: m.Name(), Input: tokens, Output: int64(req.MaxOutputTokens)}
	if call.Output == 0 {
		call.Output = cmp.Or(int64(req.LongestAnswer), usualOutput)
		call.Usual = min(usualOutput, call.Output)
	}
	r, err := u.budget.Reserve(ctx, call, u.ask)
	resume()
	if err != nil {
		return nil, err
	}
	req.MaxOutputTokens = int(r.Output)
	u.log.Append(log.ReservedEntry(r.Tokens, int64(r.Cost)))
	if err := u.log.Flush(ctx); err != nil { // the log says that a call has begun, before it does
		u.budget.Release(r)
		return nil, err
	}
	return r, nil
}

// settle counts what a call has used that has ended with err. A nil r is ignored.
func (u *usage) settle(r *Reservation, used *model.Usage, err error) {
	if r == nil {
		return
	}
	refused, ok := errors.AsType[*model.Error](err)
	switch {
	case ok && refused.Status >= 300: // the provider has not accepted it
		u.log.Append(log.ReservedEntry(0, 0))
		u.budget.Release(r)
	case err != nil:
		u.budget.Settle(r, model.Usage{})
	default:
		u.budget.Settle(r, *used)
	}
}

// stopInTime cancels at the end of the budget's time, until stop is called.
func (u *usage) stopInTime(cancel context.CancelCauseFunc) (stop func()) {
	if u.budget == nil {
		return func() {}
	}
	at, why := u.budget.Begin(time.Now())
	if at.IsZero() {
		return func() {}
	}
	timer := time.AfterFunc(time.Until(at), func() { cancel(why) })
	return func() { timer.Stop() }
}

// prompt returns a prompt as the model reads it.
func (u *usage) prompt(text string) string {
	if u.budget == nil {
		return text
	}
	return text + "\n\n[" + u.budget.Left() + "]"
}

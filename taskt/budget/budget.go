// Package budget counts what the sessions of a tree use, and keeps them within what
// was set for it.
//
// A [Meter] belongs to a session with a budget. It has the accounts of the session and of the
// sessions above it. Usage counts in all of them, and the narrowest one decides.
//
// A model call reserves its estimated prompt and its longest answer before it is made, and is
// settled afterwards. So any number of concurrent sessions stay within an account: a call that
// does not fit waits for the calls under way.
package budget

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/spendlimit"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/price"
	"github.com/agentworker/worker/session"
)

// Use is what was used of each limit but the time.
type Use [4]int64

// The places in a Use.
const (
	Tokens = iota
	Cost   // in billionths of a US dollar
	ModelCalls
	ToolCalls
)

func (u *Use) add(v Use) {
	for i := range u {
		u[i] += v[i]
	}
}

func (u *Use) take(v Use) {
	for i := range u {
		u[i] -= v[i]
	}
}

// Set is what somebody has set.
type Set struct {
	By     string            `json:"by"` // for people: "--budget", "its file"
	Limits spendlimit.Limits `json:"limits"`
	Times  int64             `json:"times,omitempty"` // how often it may be used up, as somebody has allowed; 0 means once

	Used  Use       `json:"used,omitzero"`  // before the session began, by the sessions that it resumes
	Began time.Time `json:"began,omitzero"` // when they did; zero means there is none

	// Of leads to the session that it was set for, if another one has it: what others use
	// of it counts, too.
	Of event.Path `json:"of,omitempty"`

	Own Use `json:"-"` // by the session and those below it, as their logs say, before it came to this process
}

// Meter implements [session.Budget].
type Meter struct {
	tree     *tree
	accounts []*account // the session's own, then those above
	own      int        // how many are its own
	prices   *price.Table
}

var _ session.Budget = (*Meter)(nil)

// tree is what the accounts of all meters of a tree share.
type tree struct {
	mu      sync.Mutex
	changed chan struct{} // closed and made anew when an account has more room
}

// account is one Set, and what was used of it. The tree's mu guards it.
type account struct {
	Set
	owner      session.BudgetOwner // nil means none yet
	id         string              // of the owner
	began      time.Time           // zero means it has not
	used, held Use
	reported   map[string]int // the percentage of each limit that was reported
	asking     bool           // somebody is asked
	over       *ExceededError // somebody has said no; nil means nobody has
}

// New returns the meter of a session for which sets were set, below parent's; nil means there
// is none. Without any set it is parent.
func New(parent *Meter, prices *price.Table, sets ...Set) *Meter {
	if len(sets) == 0 {
		return parent
	}
	m := &Meter{tree: &tree{changed: make(chan struct{})}, own: len(sets), prices: prices}
	for _, set := range sets {
		set.Times = max(1, set.Times)
		a := &account{Set: set, used: set.Used, began: set.Began, reported: make(map[string]int)}
		a.used.add(set.Own)
		for _, l := range limits {
			a.reported[l.name] = min(a.percent(l), 99)
		}
		m.accounts = append(m.accounts, a)
	}
	if parent != nil {
		m.tree = parent.tree
		m.accounts = append(m.accounts, parent.accounts...)
	}
	return m
}

// Holds reports whether these limits are among those of the meter's own session. m may
// be nil.
func (m *Meter) Holds(limits spendlimit.Limits) bool {
	return m != nil && slices.ContainsFunc(m.accounts[:m.own], func(a *account) bool { return a.Limits == limits })
}

// Own implements [session.Budget].
func (m *Meter) Own(id string, owner session.BudgetOwner) {
	m.tree.mu.Lock()
	for _, a := range m.accounts[:m.own] {
		a.id, a.owner = id, owner
	}
	keep := m.accounts[0].keep(m)
	m.tree.mu.Unlock()
	keep()
}

// Begin implements [session.Budget].
func (m *Meter) Begin(now time.Time) (deadline time.Time, why error) {
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	for _, a := range m.accounts[:m.own] {
		if a.began.IsZero() {
			a.began = now
		}
		if a.Limits.Time == 0 || a.Limits.Ask {
			continue
		}
		if at := a.began.Add(a.Limits.Time); deadline.IsZero() || at.Before(deadline) {
			deadline, why = at, a.exceeded("time")
		}
	}
	return deadline, why
}

// leastOutput is the shortest answer for which a call is worth making, in tokens.
const leastOutput = 256

// Reserve implements [session.Budget].
func (m *Meter) Reserve(ctx context.Context, call session.ExpectedCall, ask session.AskBudget) (*session.Reservation, error) {
	if err := m.priced(call.Model); err != nil {
		return nil, err
	}
	var granted *session.Reservation
	longest := call.Output
	err := m.await(ctx, ask, func() *obstacle {
		call.Output = m.wanted(call, longest)
		output := call.Output
		for _, a := range m.accounts {
			output = min(output, m.affordable(a, call))
		}
		if output < min(call.Output, leastOutput) {
			output = min(call.Output, leastOutput)
		}
		r := &session.Reservation{Output: output, Tokens: call.Input + output}
		if m.prices.Known(call.Model) {
			r.Cost = m.prices.Most(call.Model, call.Input, output)
		}
		need := used(r)
		for _, a := range m.accounts {
			if o := a.fits(need, output < call.Output); o != nil {
				return o
			}
		}
		for _, a := range m.accounts {
			a.held.add(need)
		}
		granted = r
		return nil
	})
	return granted, err
}

// priced refuses a model that may cost anything where the cost is limited.
func (m *Meter) priced(name string) error {
	if m.prices.Known(name) {
		return nil
	}
	for _, a := range m.accounts {
		if a.Limits.Cost > 0 {
			return &UnpricedError{Model: name, By: a.By}
		}
	}
	return nil
}

// wanted returns the length of the answer to ask for, of at most so many tokens. One that is longer
// than usual takes a quarter of what is left at most: other calls find room beside it.
func (m *Meter) wanted(call session.ExpectedCall, longest int64) int64 {
	if call.Usual == 0 {
		return longest
	}
	call.Output = 4 * longest
	for _, a := range m.accounts {
		longest = min(longest, max(call.Usual, m.affordable(a, call)/4))
	}
	return longest
}

// affordable returns the longest answer to a call for which an account has room.
func (m *Meter) affordable(a *account, call session.ExpectedCall) int64 {
	output := call.Output
	if a.Limits.Tokens > 0 {
		output = min(output, a.room(Tokens)-call.Input)
	}
	if room := model.USD(a.room(Cost)); a.Limits.Cost > 0 && m.prices.Most(call.Model, call.Input, output) > room {
		low, high := int64(0), max(output, 0) // the longest answer lies between them
		for low < high {
			if middle := (low + high + 1) / 2; m.prices.Most(call.Model, call.Input, middle) <= room {
				low = middle
			} else {
				high = middle - 1
			}
		}
		output = low
	}
	return output
}

// used is what a call uses for which r was set aside, as far as is known.
func used(r *session.Reservation) Use {
	return Use{Tokens: r.Tokens, Cost: int64(r.Cost), ModelCalls: 1}
}

// Settle implements [session.Budget].
func (m *Meter) Settle(r *session.Reservation, usage model.Usage) {
	consumed := used(r)
	if n := usage.InputTokens + usage.OutputTokens; n > 0 {
		consumed[Tokens] = n
		if cost, known := usage.Paid(); known {
			consumed[Cost] = int64(cost)
		}
	}
	m.settle(r, consumed)
}

// Release implements [session.Budget].
func (m *Meter) Release(r *session.Reservation) { m.settle(r, Use{}) }

func (m *Meter) settle(r *session.Reservation, consumed Use) {
	m.tree.mu.Lock()
	for _, a := range m.accounts {
		a.held.take(used(r))
		a.used.add(consumed)
	}
	m.tree.tell()
	reported := m.say(80)
	m.tree.mu.Unlock()
	publish(reported)
}

// tell wakes who waits. The tree is locked.
func (t *tree) tell() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// ReserveTools implements [session.Budget].
func (m *Meter) ReserveTools(ctx context.Context, n int, ask session.AskBudget) error {
	need := Use{ToolCalls: int64(n)}
	err := m.await(ctx, ask, func() *obstacle {
		for _, a := range m.accounts {
			if o := a.fits(need, false); o != nil {
				return o
			}
		}
		for _, a := range m.accounts {
			a.used.add(need)
		}
		return nil
	})
	if err != nil {
		return err
	}
	m.tree.mu.Lock()
	reported := m.say(80)
	m.tree.mu.Unlock()
	publish(reported)
	return nil
}

// obstacle is why something does not fit.
type obstacle struct {
	of    *account
	limit string
	waits bool // for what others have set aside
}

// await runs try, with the tree locked, until there is no obstacle, or one that
// nothing removes.
func (m *Meter) await(ctx context.Context, ask session.AskBudget, try func() *obstacle) error {
	for {
		m.tree.mu.Lock()
		o := try()
		if o == nil {
			m.tree.mu.Unlock()
			return nil
		}
		changed := m.tree.changed
		if o.waits || o.of.asking {
			m.tree.mu.Unlock()
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		err := o.of.exceeded(o.limit)
		if o.of.over != nil {
			err = o.of.over
		}
		reported := o.of.say(o.limit, 100)
		mayAsk := o.of.Limits.Ask && o.of.over == nil
		o.of.asking = mayAsk
		m.tree.mu.Unlock()
		publish(reported)
		if !mayAsk {
			return err
		}
		more, askErr := ask(ctx, o.limit, err.Error())
		m.answer(ctx, o.of, err, more && askErr == nil)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if askErr != nil {
			return askErr
		}
	}
}

// answer takes what somebody has said about an account that is used up. An answer
// that came of the end of the session that asked is none.
func (m *Meter) answer(ctx context.Context, a *account, exceeded *ExceededError, more bool) {
	m.tree.mu.Lock()
	a.asking = false
	var keep func()
	switch {
	case more:
		a.Times++
		clear(a.reported)
		keep = a.keep(m)
	case ctx.Err() == nil:
		a.over = exceeded
	}
	m.tree.tell()
	m.tree.mu.Unlock()
	if keep != nil {
		keep()
	}
}

// keep returns what stores the state of an account's owner. The tree is locked.
func (a *account) keep(m *Meter) func() {
	if a.owner == nil {
		return nil
	}
	var sets []Set
	for _, other := range m.accounts {
		if other.owner == a.owner {
			sets = append(sets, other.Set)
		}
	}
	data, err := json.Marshal(sets)
	if err != nil { // texts and numbers always have a JSON form
		panic(err)
	}
	owner := a.owner
	return func() { owner.KeepBudget(data) }
}

// reported is an event to publish.
type reported struct {
	owner session.BudgetOwner
	event event.Budget
}

func publish(all []reported) {
	for _, s := range all {
		s.owner.SayBudget(s.event)
	}
}

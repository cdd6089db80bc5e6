package budget

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/spendlimit"
	"github.com/agentworker/worker/model"
)

// limit is one of the limits of an account.
type limit struct {
	name  string
	index int // in a Use; -1: the time
	of    func(*spendlimit.Limits) int64
	show  func(n int64) string      // for people
	json  func(n int64) json.Number // for programs
}

// limits are all of them.
var limits = []limit{
	{"tokens", Tokens, func(l *spendlimit.Limits) int64 { return l.Tokens }, counted("token"), integer},
	{"cost", Cost, func(l *spendlimit.Limits) int64 { return l.Cost },
		func(n int64) string { return model.USD(n).String() }, func(n int64) json.Number { return model.USD(n).Number() }},
	{"modelCalls", ModelCalls, func(l *spendlimit.Limits) int64 { return l.ModelCalls }, counted("model call"), integer},
	{"toolCalls", ToolCalls, func(l *spendlimit.Limits) int64 { return l.ToolCalls }, counted("tool call"), integer},
	{"time", -1, func(l *spendlimit.Limits) int64 { return int64(l.Time) },
		func(n int64) string { return errtext.Duration(time.Duration(n).Round(time.Second)) },
		func(n int64) json.Number { return integer(int64(time.Duration(n) / time.Second)) }},
}

func integer(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

func counted(what string) func(int64) string {
	return func(n int64) string {
		if n == 1 {
			return "1 " + what
		}
		return fmt.Sprintf("%d %ss", n, what)
	}
}

func limitOf(name string) limit {
	for _, l := range limits {
		if l.name == name {
			return l
		}
	}
	panic("no limit " + name)
}

// most returns what may be used of a limit; 0 means there is none.
func (a *account) most(l limit) int64 { return l.of(&a.Limits) * a.Times }

// consumed returns what was used of a limit.
func (a *account) consumed(l limit) int64 {
	if l.index >= 0 {
		return a.used[l.index]
	}
	if a.began.IsZero() {
		return 0
	}
	return int64(time.Since(a.began))
}

// room returns what is left of the limit with an index, besides what is set aside.
func (a *account) room(index int) int64 {
	return a.most(limits[index]) - a.used[index] - a.held[index]
}

func (a *account) percent(l limit) int {
	most := a.most(l)
	if most == 0 {
		return 0
	}
	return int(float64(a.consumed(l)) / float64(most) * 100)
}

// Level returns the limit of a session's own budgets of which most is used now. false means that
// it has none.
func (m *Meter) Level(sessionID string) (_ event.Budget, ok bool) {
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	var level event.Budget
	for _, a := range m.accounts[:m.own] {
		if a.id != sessionID {
			continue
		}
		for _, l := range limits {
			percent := max(a.percent(l), a.reported[l.name])
			if a.most(l) == 0 || ok && percent <= level.Percent {
				continue
			}
			ok = true
			level = event.Budget{Limit: l.name, Used: l.json(a.consumed(l)), Max: l.json(a.most(l)), Percent: percent, SetBy: a.By}
		}
	}
	return level, ok
}

// fits returns why there is no room for need; nil means there is. scarce: there would be
// more use of it if there were more room.
func (a *account) fits(need Use, scarce bool) *obstacle {
	for _, l := range limits {
		most := a.most(l)
		switch {
		case most == 0:
		case l.index < 0 && a.consumed(l) >= most:
			return &obstacle{of: a, limit: l.name}
		case l.index < 0, need[l.index] == 0:
		case a.used[l.index]+need[l.index] > most:
			return &obstacle{of: a, limit: l.name}
		case a.held[l.index] > 0 && (scarce && l.index <= Cost || a.room(l.index) < need[l.index]):
			return &obstacle{of: a, limit: l.name, waits: true}
		}
	}
	return nil
}

// say returns the events about the limits of which so much of a hundred is used. The
// tree is locked.
func (m *Meter) say(percent int) []reported {
	var all []reported
	for _, a := range m.accounts {
		for _, l := range limits {
			if a.percent(l) >= percent {
				all = append(all, a.say(l.name, percent)...)
			}
		}
	}
	return all
}

// say returns the event that so much of a limit is used, unless that was said.
func (a *account) say(name string, percent int) []reported {
	l := limitOf(name)
	if a.reported[name] >= percent || a.owner == nil {
		return nil
	}
	a.reported[name] = percent
	return []reported{{a.owner, event.Budget{
		Limit: name, Used: l.json(a.consumed(l)), Max: l.json(a.most(l)), Percent: percent, SetBy: a.By,
	}}}
}

func (a *account) exceeded(name string) *ExceededError {
	l := limitOf(name)
	return &ExceededError{Limit: name, Most: l.show(a.most(l)), Used: l.show(a.consumed(l)), By: a.By, SessionID: a.id}
}

// Left implements [session.Budget].
func (m *Meter) Left() string {
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	var left []string
	for _, l := range limits {
		rest, limited := int64(0), false
		for _, a := range m.accounts {
			most := a.most(l)
			if most == 0 {
				continue
			}
			free := max(0, most-a.consumed(l))
			if l.index >= 0 {
				free = max(0, a.room(l.index))
			}
			if !limited || free < rest {
				rest, limited = free, true
			}
		}
		if limited {
			left = append(left, l.show(rest))
		}
	}
	return "Budget for this task and all that it starts: " + strings.Join(left, ", ") + "."
}

// ExceededError tells that a budget is used up.
type ExceededError struct {
	Limit     string // tokens, cost, modelCalls, toolCalls or time
	Most      string // that may be used of it, for people
	Used      string // that was used of it, for people
	By        string // who has set it
	SessionID string // for which session
}

func (e *ExceededError) Error() string {
	return fmt.Sprintf("the budget of %s is used up: %s used, and what comes next would need more (%s of session %s; set by %s)",
		e.Most, e.Used, e.Limit, e.SessionID, e.By)
}

// ErrorCode is the code of the error event of a session that ends for it.
func (*ExceededError) ErrorCode() string { return "budget_exceeded" }

// StopReason is why a session ends with this error.
func (*ExceededError) StopReason() event.StopReason { return event.StopBudget }

// UnpricedError tells that the cost of a model call can't be kept within a budget.
type UnpricedError struct{ Model, By string }

func (e *UnpricedError) Error() string {
	return fmt.Sprintf("the price of model %s is not known, so that its cost can't be kept within the budget (set by %s): add it to the file of --prices, or limit tokens in place of cost",
		e.Model, e.By)
}

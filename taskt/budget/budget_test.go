package budget_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/spendlimit"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/price"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt/budget"
)

// owner notes what it is told.
type owner struct {
	mu   sync.Mutex
	said []event.Budget
	kept json.RawMessage
}

func (o *owner) SayBudget(ev event.Budget) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.said = append(o.said, ev)
}

func (o *owner) KeepBudget(state json.RawMessage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept = state
}

func meter(t testing.TB, above *budget.Meter, limits string) (*budget.Meter, *owner) {
	t.Helper()
	l, err := spendlimit.Parse(limits)
	if err != nil {
		t.Fatal(err)
	}
	prices, err := price.Load("")
	if err != nil {
		t.Fatal(err)
	}
	m, o := budget.New(above, prices, budget.Set{By: "the test", Limits: l}), new(owner)
	m.Own("ses_test", o)
	return m, o
}

// call is a model call that costs $0.10 for a million tokens of input, and $0.50 of
// output.
func call(input, output int64) session.ExpectedCall {
	return session.ExpectedCall{Model: "anthropic/claude-haiku-5-5", Input: input, Output: output}
}

// TestLongAnswers: a call gets an answer longer than the usual one while the budget has plenty, and
// leaves room for others beside it. A limit that somebody has set is not made smaller.
func TestLongAnswers(t *testing.T) {
	long := func(usual int64) session.ExpectedCall {
		c := call(1000, 128_000)
		c.Usual = usual
		return c
	}
	for _, tt := range []struct {
		limits string
		usual  int64
		want   []int64 // of calls side by side
	}{
		{"tokens=10M", 8192, []int64{128_000, 128_000, 128_000}},
		{"tokens=201k", 8192, []int64{50_000, 37_250, 27_687}},
		{"tokens=30k", 8192, []int64{8192, 8192}},
		{"cost=0.1001", 8192, []int64{49_987}},
		{"tokens=201k", 0, []int64{128_000}},
		{"tokens=5000", 8192, []int64{4000}},
	} {
		m, _ := meter(t, nil, tt.limits)
		for i, want := range tt.want {
			r, err := m.Reserve(t.Context(), long(tt.usual), nobody)
			if err != nil || r.Output != want {
				t.Fatalf("%s, call %d: an answer of %+v tokens, want %d: %v", tt.limits, i, r, want, err)
			}
		}
	}
}

func nobody(context.Context, string, string) (bool, error) { return false, nil }

func usage(input, output int64) model.Usage {
	return model.Usage{InputTokens: input, OutputTokens: output}
}

// TestNeverOverrun: whatever calls are made side by side, and however much of what was
// set aside they use, no account of the tree is overrun.
func TestNeverOverrun(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tokens, cost := rapid.Int64Range(1000, 200_000).Draw(rt, "tokens"), rapid.Int64Range(1, 100_000_000).Draw(rt, "cost")
		calls := rapid.Int64Range(1, 50).Draw(rt, "calls")
		top, _ := meter(t, nil, spendlimit.Limits{Tokens: tokens, Cost: cost, ModelCalls: calls}.String())
		type step struct{ Input, Output, Used int64 }
		children := rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) step {
			return step{rapid.Int64Range(1, 5000).Draw(rt, "input"), rapid.Int64Range(1, 9000).Draw(rt, "output"), rapid.Int64Range(0, 100).Draw(rt, "used")}
		}), 1, 8), 1, 12).Draw(rt, "children")
		prices, _ := price.Load("")
		var mu sync.Mutex
		var usedTokens, usedCalls int64
		var usedCost model.USD
		var all sync.WaitGroup
		for _, steps := range children {
			child, _ := meter(t, top, "tokens=30000")
			all.Go(func() {
				own := int64(0)
				for _, s := range steps {
					r, err := child.Reserve(context.Background(), call(s.Input, s.Output), nobody)
					if exceeded := new(*budget.ExceededError); errors.As(err, exceeded) {
						break
					}
					if err != nil || r.Output > s.Output || r.Output < 1 {
						rt.Errorf("%+v, %v", r, err)
						return
					}
					u := usage(s.Input, max(1, r.Output*s.Used/100))
					u.Cost = prices.Cost("anthropic/claude-haiku-5-5", u).Number()
					own += u.InputTokens + u.OutputTokens
					mu.Lock()
					usedTokens, usedCalls = usedTokens+u.InputTokens+u.OutputTokens, usedCalls+1
					paid, _ := u.Paid()
					usedCost += paid
					mu.Unlock()
					child.Settle(r, u)
				}
				if own > 30_000 {
					rt.Errorf("a child has used %d tokens of 30000", own)
				}
			})
		}
		all.Wait()
		if usedTokens > tokens || usedCalls > calls || usedCost > model.USD(cost) {
			rt.Errorf("%d tokens of %d, %d calls of %d, cost %d of %d", usedTokens, tokens, usedCalls, calls, usedCost, cost)
		}
	})
}

// TestReserveWaits: a call that does not fit beside others waits for them, and its answer is
// cut to the rest.
func TestReserveWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := meter(t, nil, "tokens=10k")
		first, err := m.Reserve(t.Context(), call(1000, 8000), nobody)
		if err != nil || first.Output != 8000 {
			t.Fatalf("%+v, %v", first, err)
		}
		done := make(chan *session.Reservation)
		go func() {
			second, err := m.Reserve(t.Context(), call(1000, 8000), nobody)
			if err != nil {
				t.Error(err)
			}
			done <- second
		}()
		synctest.Wait()
		select {
		case r := <-done:
			t.Errorf("%+v was reserved beside the first", r)
		default:
		}
		m.Settle(first, usage(1000, 3000))
		if second := <-done; second.Output != 5000 {
			t.Errorf("%+v, want an answer of 5000 tokens at most", second)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := m.Reserve(cancelled, call(1000, 8000), nobody); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want that it was cancelled while it waited", err)
		}
	})
}

func TestSettle(t *testing.T) {
	m, o := meter(t, nil, "tokens=10k,toolCalls=5,modelCalls=20")
	reserve := func() *session.Reservation {
		t.Helper()
		r, err := m.Reserve(t.Context(), call(1000, 1000), nobody)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	m.Release(reserve())
	if got, want := m.Left(), "Budget for this task and all that it starts: 10000 tokens, 20 model calls, 5 tool calls."; got != want {
		t.Errorf("after a call that used nothing: %s\nwant %s", got, want)
	}
	m.Settle(reserve(), model.Usage{}) // not known: all that was set aside
	m.Settle(reserve(), usage(1000, 5000))
	if got, want := m.Left(), "Budget for this task and all that it starts: 2000 tokens, 18 model calls, 5 tool calls."; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if err := m.ReserveTools(t.Context(), 4, nobody); err != nil {
		t.Error(err)
	}
	var exceeded *budget.ExceededError
	if err := m.ReserveTools(t.Context(), 2, nobody); !errors.As(err, &exceeded) || exceeded.Limit != "toolCalls" ||
		err.Error() != "the budget of 5 tool calls is used up: 4 tool calls used, and what comes next would need more (toolCalls of session ses_test; set by the test)" {
		t.Errorf("%v", err)
	}
	want := []event.Budget{
		{Limit: "tokens", Used: "8000", Max: "10000", Percent: 80, SetBy: "the test"},
		{Limit: "toolCalls", Used: "4", Max: "5", Percent: 80, SetBy: "the test"},
		{Limit: "toolCalls", Used: "4", Max: "5", Percent: 100, SetBy: "the test"},
	}
	if len(o.said) != len(want) || o.said[0] != want[0] || o.said[1] != want[1] || o.said[2] != want[2] {
		t.Errorf("said %+v\nwant %+v", o.said, want)
	}
}

// TestAsk: of several sessions at the end of a budget one asks, and the others wait for the
// answer. What it allows is stored.
func TestAsk(t *testing.T) {
	m, o := meter(t, nil, "modelCalls=1,then=ask")
	r, err := m.Reserve(t.Context(), call(10, 10), nobody)
	if err != nil {
		t.Fatal(err)
	}
	m.Settle(r, usage(10, 10))
	asked := 0
	yes := func(_ context.Context, limit, why string) (bool, error) {
		asked++
		if limit != "modelCalls" || !strings.Contains(why, "the budget of 1 model call is used up") {
			t.Errorf("asked about %s: %s", limit, why)
		}
		return true, nil
	}
	child, _ := meter(t, m, "tokens=1M")
	if r, err = child.Reserve(t.Context(), call(10, 10), yes); err != nil || asked != 1 {
		t.Fatalf("%v after %d questions", err, asked)
	}
	m.Settle(r, usage(10, 10))
	if want := `[{"by":"the test","limits":{"modelCalls":1,"then":"ask"},"times":2}]`; string(o.kept) != want {
		t.Errorf("stored %s, want %s", o.kept, want)
	}
	// A stop of the session that asks is no answer.
	stopped, stop := context.WithCancel(t.Context())
	if _, err = m.Reserve(stopped, call(10, 10), func(context.Context, string, string) (bool, error) {
		stop()
		return false, nil
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was stopped", err)
	}
	var exceeded *budget.ExceededError
	if _, err = m.Reserve(t.Context(), call(10, 10), nobody); !errors.As(err, &exceeded) {
		t.Errorf("%v after a no", err)
	}
	if _, err = child.Reserve(t.Context(), call(10, 10), yes); !errors.As(err, &exceeded) || asked != 1 {
		t.Errorf("%v after a no, and %d questions", err, asked)
	}
}

func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := meter(t, nil, "time=10m")
		deadline, why := m.Begin(time.Now())
		if time.Until(deadline) != 10*time.Minute || !strings.Contains(why.Error(), "the budget of 10m is used up") {
			t.Errorf("%v, %v", time.Until(deadline), why)
		}
		<-time.After(4 * time.Minute)
		if level, ok := m.Level("ses_test"); !ok || level.Limit != "time" || level.Used != "240" || level.Max != "600" || level.Percent != 40 {
			t.Errorf("level %+v, %v", level, ok)
		}
		if level, ok := m.Level("ses_other"); ok {
			t.Errorf("the level of a session without a budget: %+v", level)
		}
		if again, _ := m.Begin(time.Now()); again != deadline {
			t.Errorf("a second turn ends at %v, want %v", again, deadline)
		}
		if got := m.Left(); got != "Budget for this task and all that it starts: 6m." {
			t.Error(got)
		}
		<-time.After(6 * time.Minute)
		var exceeded *budget.ExceededError
		if _, err := m.Reserve(t.Context(), call(1, 1), nobody); !errors.As(err, &exceeded) || exceeded.Limit != "time" {
			t.Errorf("%v", err)
		}
	})
}

func TestUnpriced(t *testing.T) {
	m, _ := meter(t, nil, "cost=1")
	child, _ := meter(t, m, "tokens=1M")
	var unpriced *budget.UnpricedError
	if _, err := child.Reserve(t.Context(), session.ExpectedCall{Model: "openai/mine", Input: 1, Output: 1}, nobody); !errors.As(err, &unpriced) ||
		!strings.Contains(err.Error(), "the price of model openai/mine is not known") {
		t.Errorf("%v", err)
	}
	r, err := child.Reserve(t.Context(), session.ExpectedCall{Model: "offline", Input: 1e6, Output: 1000}, nobody)
	if err == nil || r != nil {
		t.Errorf("%+v, %v: the tokens of a model that costs nothing count too", r, err)
	}
}

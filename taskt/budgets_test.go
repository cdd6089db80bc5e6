package taskt_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/budget"
	"github.com/agentworker/worker/taskt/control"
)

// delegating is a model that gives a task to n subagents in its first answer, and
// spends tokens in each of its calls. background: every other of them runs there.
func delegating(n int, spent *atomic.Int64, background bool) modelFunc {
	return func(_ context.Context, req *model.Request, yield func(model.Part) bool) error {
		first := req.Messages[len(req.Messages)-1].ToolResults == nil
		output := int64(min(req.MaxOutputTokens, 300))
		spent.Add(100 + output)
		stop := model.StopEnd
		if first && len(req.Path) == 1 {
			stop = model.StopToolCalls
			for i := range n {
				args := fmt.Sprintf(`{"description":"d","prompt":"p","agentType":"explore","background":%t}`, background && i%2 == 0)
				if !yield(model.ToolCall{ID: fmt.Sprint("c", i), Name: "task", Arguments: args}) {
					return nil
				}
			}
		}
		_ = yield(model.TextDelta{Text: "done"}) && yield(model.Usage{InputTokens: 100, OutputTokens: output}) && yield(model.Stop{Reason: stop})
		return nil
	}
}

// runPrimary runs a primary agent to its end.
func (e *env) runPrimary(t *testing.T) (*session.Session, session.Outcome) {
	t.Helper()
	root, err := e.OpenPrimary(t.Context(), &agentdefs.Definition{Name: "primary", Mode: agentdefs.Primary, Permission: allowAll.ruleset(t), MaxSteps: 5}, "d")
	if err != nil {
		t.Fatal(err)
	}
	out := root.Prompt(t.Context(), "go")
	if err := root.End(out.Status, out.Err); err != nil {
		t.Fatal(err)
	}
	return root, out
}

// ranPrimary is runPrimary for an agent that completes, with the records of its session
// and of its subagents, the newest first.
func (e *env) ranPrimary(t *testing.T, subagents int) (*session.Session, []*record.Record) {
	t.Helper()
	root, out := e.runPrimary(t)
	records, err := e.sessions.Store().Index.Tree(t.Context(), root.Path())
	if err := errors.Join(out.Err, err); err != nil || len(records) != 1+subagents {
		t.Fatalf("%d sessions, %v", len(records), err)
	}
	return root, records
}

// TestBudgetOfTree: the subagents of a primary agent, side by side, some of them in the
// background, never use more than it may with all that it starts.
func TestBudgetOfTree(t *testing.T) {
	var spent atomic.Int64
	limit := taskt.Budget{Tokens: 60_000}
	e := setup{model: delegating(100, &spent, true), limits: taskt.Limits{Running: 100, PerParent: 100}, budget: limit}.open(t)
	root, out := e.runPrimary(t)
	if spent.Load() > limit.Tokens {
		t.Errorf("%d tokens of %d", spent.Load(), limit.Tokens)
	}
	if !errors.As(out.Err, new(*budget.ExceededError)) && out.Err != nil {
		t.Errorf("the turn ended with %v", out.Err)
	}
	used, err := budget.Used(t.Context(), e.sessions.Store(), root.Path())
	if n := used[budget.Tokens]; err != nil || n < spent.Load() || n > limit.Tokens {
		t.Errorf("the logs have %d tokens of %d, %v, and %d were used", n, limit.Tokens, err, spent.Load())
	}
}

// TestBudgetNarrows: of what the caller, the file and the call say the narrowest counts.
// What is set above holds whatever they say.
func TestBudgetNarrows(t *testing.T) {
	var spent atomic.Int64
	above := setup{
		model: delegating(0, &spent, false), budget: taskt.Budget{Tokens: 1_000_000, Ask: true},
		above: []taskt.BudgetAbove{{By: "the policy (p:1)", Limits: taskt.Budget{Tokens: 50}}},
	}.open(t)
	res := above.Call(t.Context(), above.root, taskt.Input{Prompt: "p", AgentType: "explore", Budget: json.RawMessage(`{"tokens": 1000000}`)})
	if exceeded := new(budget.ExceededError); !errors.As(res.Err, &exceeded) || exceeded.By != "the policy (p:1)" {
		t.Errorf("the budget above: %v", res.Err)
	}
	e := setup{
		model: delegating(0, &spent, false), budget: taskt.Budget{ModelCalls: 1},
		files: map[string]string{"thrifty.md": "---\ndescription: d\nbudget: tokens=50\n---\np"},
	}.open(t)
	for _, c := range []struct{ agent, budget, by string }{
		{"explore", `null`, ""},
		{"explore", `{"tokens": 50}`, "the call"},
		{"explore", `"tokens=100k"`, ""},
		{"thrifty", `{"tokens": 100000}`, "the agent's file"},
	} {
		res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: c.agent, Budget: json.RawMessage(c.budget)})
		exceeded := new(budget.ExceededError)
		if errors.As(res.Err, &exceeded) != (c.by != "") || exceeded.By != c.by {
			t.Errorf("%+v: %v", c, res.Err)
		}
	}
	if _, err := e.ReadInput([]byte(`{"prompt":"p","agentType":"explore","budget":{"token":1}}`)); err == nil ||
		!strings.Contains(err.Error(), `the arguments of task: budget: unknown name "token"`) {
		t.Errorf("%v", err)
	}
}

// TestBudgetCarried: a session that resumes another has the rest of its budget, and of the
// budgets above that one.
func TestBudgetCarried(t *testing.T) {
	var spent atomic.Int64
	e := setup{model: delegating(1, &spent, false), budget: taskt.Budget{Tokens: 60_000}}.open(t)
	root, records := e.ranPrimary(t, 1)
	var child *record.Record
	for _, r := range records {
		if r.ParentID != "" {
			child = r
		}
	}
	sets, err := budget.Carry(t.Context(), e.sessions.Store(), child.Path, e.root.Path(), "")
	want := budget.Use{budget.Tokens: 3 * 400, budget.ModelCalls: 3, budget.ToolCalls: 1}
	if err != nil || len(sets) != 1 || sets[0].Used != want || sets[0].By != "--budget" || sets[0].Began.IsZero() {
		t.Errorf("%+v, %v, want one with %v", sets, err, want)
	}
	sets, err = budget.Carry(t.Context(), e.sessions.Store(), child.Path, root.Path(), "")
	if err != nil || len(sets) != 0 {
		t.Errorf("%+v, %v below the same root, want none", sets, err)
	}
}

// TestBudgetOfSiblings: of two subagents of an ended session one is resumed at a time. Its
// usage is not left for the other, or for its own next run.
func TestBudgetOfSiblings(t *testing.T) {
	var spent atomic.Int64
	hangs := make(chan struct{}, 1)
	e := setup{budget: taskt.Budget{Tokens: 60_000}, model: modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		if strings.HasPrefix(req.Messages[len(req.Messages)-1].Text, "hang") {
			hangs <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}
		return delegating(2, &spent, false)(ctx, req, yield)
	})}.open(t)
	root, tree := e.ranPrimary(t, 2)
	a, b := tree[0], tree[1] // the newest first: the root is last
	if a.ParentID == "" || b.ParentID == "" {
		t.Fatalf("%+v, %+v", a, b)
	}
	first := e.Resume(t.Context(), e.root, control.Resumption{Record: a, Prompt: "hang"})
	<-hangs
	second := e.resume(t, b.ID, "[worker] on")
	if !errors.As(second.Err, new(*budget.SharedError)) || !strings.Contains(second.Text, first.SessionID()) {
		t.Errorf("beside the first it is %+v", second)
	}
	first.Cancel("it has been long enough")
	<-first.Done()
	if second = e.resume(t, b.ID, "go"); second.Err != nil {
		t.Fatal(second.Err)
	}
	r := recordOf(t, e, first.SessionID())
	sets, err := budget.Carry(t.Context(), e.sessions.Store(), r.Path, e.root.Path(), "")
	all, spentErr := budget.Used(t.Context(), e.sessions.Store(), root.Path())
	if err != nil || spentErr != nil || len(sets) != 1 || sets[0].Used != all || all[budget.Tokens] < spent.Load()+1 || all[budget.ModelCalls] != 6 {
		t.Errorf("%+v of %v, %v, %v; %d tokens were used", sets, all, err, spentErr, spent.Load())
	}
}

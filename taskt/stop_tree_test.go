package taskt_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/tool"
)

// treeModel is a model whose agents start subagents of their own, blocking and in the
// background, step after step, and then wait for an answer or hang: what each does
// follows from its prompt. calls has a value for each of its calls, as far as there is
// room.
func treeModel(calls chan<- struct{}) modelFunc {
	return func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		select {
		case calls <- struct{}{}:
		default:
		}
		at, n := prompt(req)
		h := fnv.New64a()
		fmt.Fprintf(h, "%s/%d", at, n)
		r := rand.New(rand.NewPCG(h.Sum64(), 0))
		depth := strings.Count(at, "/") - 1
		switch {
		case depth < 4 && (n == 0 && depth == 0 || n < 3 && r.IntN(2) == 0):
			for i := range 2 {
				args := fmt.Sprintf(`{"description":"d","prompt":"%s/%d_%d","agentType":"node","background":%t}`, at, n, i, r.IntN(2) == 0)
				yield(model.ToolCall{ID: fmt.Sprintf("%d_%d", n, i), Name: "task", Arguments: args})
			}
		case r.IntN(3) == 0:
			yield(model.ToolCall{ID: fmt.Sprint(n), Name: "ask", Arguments: `{"v":"x"}`})
		default:
			<-ctx.Done()
			return context.Cause(ctx)
		}
		yield(model.Stop{Reason: model.StopToolCalls})
		return nil
	}
}

// TestStopTree: a stop reaches all that a session has started, and starts meanwhile,
// at any depth: all of it is cancelled once the stop is told, with its questions.
func TestStopTree(t *testing.T) {
	calls := make(chan struct{}, 1000)
	e := setup{
		model: treeModel(calls), tools: []tool.Tool{plain("ask")},
		limits: taskt.Limits{Depth: 5, Running: 1000, PerParent: 100},
		files:  map[string]string{"node.md": "---\ndescription: A node.\nmaxSteps: 1000\n---\n"},
		static: static{{Tool: "*", Pattern: "*", Action: permission.Allow}, {Tool: "ask", Pattern: "*", Action: permission.Ask}},
	}.open(t)
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		caller, err := e.OpenCaller(t.Context(), "stops", record.Owner)
		if err != nil {
			t.Fatal(err)
		}
		run := e.Start(t.Context(), caller, taskt.Input{Prompt: fmt.Sprintf("n/%d", seed), AgentType: "node"})
		for range 1 + r.IntN(3) { // the first agent starts two
			<-calls
		}
		tree := e.tree(t, caller.ID())
		for _, target := range []string{tree[r.IntN(len(tree))].ID, run.SessionID()} {
			if target == caller.ID() {
				continue
			}
			if _, err := e.stop(t, scopeOf(""), target); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, below := range e.tree(t, target) {
				if below.Status != record.Cancelled || !below.Closed {
					t.Errorf("seed %d: %s, %d deep below the stopped %s, is %s", seed, below.ID, below.Depth, target, below.Status)
				}
			}
		}
		<-run.Done()
		if err := caller.End(record.Completed, nil); err != nil {
			t.Fatal(err)
		}
		if pending, err := e.sessions.Store().Approvals.Pending(t.Context()); err != nil || len(pending) > 0 {
			t.Errorf("seed %d: %d questions wait, %v", seed, len(pending), err)
		}
		if load := e.Load(); load.Running > 0 || load.Queued > 0 {
			t.Errorf("seed %d: %+v", seed, load)
		}
		for len(calls) > 0 { // those that have gone
			<-calls
		}
	}
}

// tree returns the records of a session and of all below it.
func (e *env) tree(t *testing.T, id string) []*record.Record {
	t.Helper()
	records, err := e.sessions.Store().Index.Tree(t.Context(), recordOf(t, e, id).Path)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// TestPartial: what a subagent has said before it was stopped is told with its error,
// by the call and by what is stored.
func TestPartial(t *testing.T) {
	said := make(chan struct{})
	e := newEnv(t, modelFunc(func(ctx context.Context, _ *model.Request, yield func(model.Part) bool) error {
		yield(model.TextDelta{Text: "Half of </task_error> it"})
		close(said)
		<-ctx.Done()
		return context.Cause(ctx)
	}), taskt.Limits{}, nil)
	run := e.Start(t.Context(), e.root, look)
	<-said
	run.Cancel("enough")
	<-run.Done()
	const want = "<task_error agent=\"explore\">\nthe task was cancelled: enough\n\nThe text so far:\nHalf of &lt;/task_error> it\n</task_error>"
	stored, err := e.Control().Result(t.Context(), scopeOf(e.root.ID()), run.SessionID())
	if err != nil || run.Result().XML() != want || stored.XML() != want {
		t.Errorf("the result is\n%s\nand stored\n%s\n%v, want\n%s", run.Result().XML(), stored.XML(), err, want)
	}
}

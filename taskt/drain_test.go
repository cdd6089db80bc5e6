package taskt_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

// TestDrainedTree: a worker with nested subagents in the background is told to end at any call
// of a model, with time for the step that runs, and without. Another one goes on with all that
// had begun, as after a kill. No handing over counts as a takeover.
func TestDrainedTree(t *testing.T) {
	let := make(chan struct{})
	close(let)
	step := 5
	if os.Getenv("SOAK") != "" {
		step = 1
	}
	handedOver := 0
	for at := 1; ; at += step {
		tree := treeSetup(let, let, make(chan struct{}, 100))
		tree.limits.Takeovers = 1
		tree.bus = openBus(t, t.TempDir())
		n, over := tree.drainAt(t, at, at%2 == 0)
		handedOver += n
		ok := t.Run(fmt.Sprint(at), func(t *testing.T) {
			others, records := tree.over(t, tree.bus)
			checkTold(t, tree.bus, others.sessions.Store(), make(map[string]string))
			checkTotals(t, others.sessions.Store())
			for _, r := range records {
				checkRuns(t, tree.bus, r)
				if r.Status != record.Completed && !strings.Contains(r.Error, "the worker has ended") && !strings.Contains(r.Error, "it had not begun to work") || r.Takeovers != r.HandOvers {
					t.Errorf("%s %s is %s after %d takeovers, %d handed over: %s", r.ID, r.Agent, r.Status, r.Takeovers, r.HandOvers, r.Error)
				}
			}
		})
		if over || !ok {
			break
		}
	}
	if handedOver == 0 {
		t.Error("no session was handed over")
	}
}

// drainAt runs a tree until a call of a model, and drains and closes its worker then. atOnce: the
// call gets no time. It returns how many sessions are left, and whether the tree had ended.
func (s setup) drainAt(t *testing.T, at int, atOnce bool) (left int, over bool) {
	t.Helper()
	reached, next := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	m := s.model.(modelFunc)
	s.model = modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		if int(calls.Add(1)) == at {
			close(reached)
			if atOnce {
				<-ctx.Done()
				return ctx.Err()
			}
			<-next // the drain has begun
		}
		return m(ctx, req, yield)
	})
	e := s.open(t)
	first := e.Start(t.Context(), e.root, background("other"))
	second := e.Start(t.Context(), e.root, taskt.Input{Prompt: "lead", AgentType: "lead", Background: new(true)})
	done := make(chan struct{})
	go func() {
		<-first.Done()
		<-second.Done()
		close(done)
	}()
	select {
	case <-reached:
	case <-done:
		over = true
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if atOnce {
		cancel()
	}
	drained := make(chan int)
	e.Refuse()
	go func() { drained <- e.Drain(ctx) }()
	close(next)
	left = <-drained
	if r := e.Start(t.Context(), e.root, background("late")); r.Result() == nil || !strings.Contains(fmt.Sprint(r.Result().Err), "shutting down") {
		t.Error("a call begins after the drain")
	}
	<-done
	if err := e.root.End(record.Completed, nil); err != nil && !e.root.HandedOver() {
		t.Error(err)
	}
	e.Close()
	if err := e.sessions.Close(); err != nil {
		t.Error(err)
	}
	return left, over
}

package taskt_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

// TestDefaultLimits: the figures that docs/reference/limits.md gives.
func TestDefaultLimits(t *testing.T) {
	want := taskt.Limits{ChildTime: 5 * time.Minute, BackgroundTime: 30 * time.Minute, Depth: 1, Running: 10, PerParent: 5}
	if got := taskt.DefaultLimits(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestLimits: no more children run at once than the limits say, and all of
// them do run.
func TestLimits(t *testing.T) {
	var now, most atomic.Int32
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		n := now.Add(1)
		for {
			old := most.Load()
			if n <= old || most.CompareAndSwap(old, n) {
				break
			}
		}
		defer now.Add(-1)
		return answer("ok")(ctx, req, yield)
	})
	for _, limits := range []taskt.Limits{{Running: 2}, {PerParent: 3}} {
		most.Store(0)
		e := newEnv(t, m, limits, nil)
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				if res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "explore"}); res.Err != nil {
					t.Error(res.Err)
				}
			})
		}
		calls.Wait()
		if want := int32(max(limits.Running, limits.PerParent)); most.Load() > want {
			t.Errorf("%+v: %d children ran at once", limits, most.Load())
		}
	}
	for _, bad := range []taskt.Limits{{Depth: 6}, {Running: 10_001}, {PerParent: 10_001}, {ChildTime: time.Millisecond}, {Depth: -1}} {
		if _, err := taskt.New(taskt.Options{Limits: bad}); err == nil {
			t.Errorf("New accepted %+v", bad)
		}
	}
}

// TestNoCapOnChildrenEver: the limits count children that run, not those that a session
// has had.
func TestNoCapOnChildrenEver(t *testing.T) {
	e := newEnv(t, answer("ok"), taskt.Limits{Running: 1, PerParent: 1}, nil)
	for range 15 {
		if res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "explore"}); res.Err != nil {
			t.Fatal(res.Err)
		}
	}
}

// TestOneStep: the children of one step all begin; as many as the limits say run
// at once, and the others are queued.
func TestOneStep(t *testing.T) {
	const children = 40
	for _, limits := range []taskt.Limits{{Running: children, PerParent: children}, {Running: 3, PerParent: children}} {
		running := make(chan struct{}, children)
		free := make(chan struct{})
		m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
			switch text, n := prompt(req); {
			case text == "go" && n == 0:
				for i := range children {
					if !yield(model.ToolCall{ID: fmt.Sprint(i), Name: "task", Arguments: `{"description":"d","prompt":"p","agentType":"explore"}`}) {
						return nil
					}
				}
				yield(model.Stop{Reason: model.StopToolCalls})
				return nil
			case text == "p":
				running <- struct{}{}
				<-free
			}
			return answer("done")(ctx, req, yield)
		})
		e := newEnv(t, m, limits, nil)
		root, err := e.OpenPrimary(t.Context(), &agentdefs.Definition{Name: "primary", Mode: agentdefs.Primary, MaxSteps: 5}, "test")
		if err != nil {
			t.Fatal(err)
		}
		out := make(chan session.Outcome)
		go func() { out <- root.Prompt(t.Context(), "go") }()
		queued := 0
		for d, err := range e.bus.Follow(t.Context(), root.Path(), &eventbus.FollowOptions{Live: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(d.Raw), `"status":"queued"`) && strings.Contains(string(d.Raw), `"subagent_event"`) {
				queued++
			}
			if queued == children {
				break
			}
		}
		for range limits.Running {
			<-running
		}
		if load := e.Load(); load.Running != limits.Running {
			t.Errorf("%+v: the load is %+v", limits, load)
		}
		close(free)
		if out := <-out; out.Err != nil {
			t.Error(out.Err)
		}
		if err := root.End(record.Completed, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestCancelQueued: a call that waits for a slot ends with its context, and
// its session is cancelled.
func TestCancelQueued(t *testing.T) {
	started := make(chan struct{}, 2)
	m := modelFunc(func(ctx context.Context, _ *model.Request, _ func(model.Part) bool) error {
		started <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	e := newEnv(t, m, taskt.Limits{Running: 1}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	results := make(chan *taskt.Result, 2)
	call := func() { results <- e.Call(ctx, e.root, taskt.Input{Prompt: "p", AgentType: "explore"}) }
	go call()
	<-started
	go call()
	cancel()
	for range 2 {
		if res := <-results; res.Err == nil || res.SessionID != "" && res.Status != record.Cancelled {
			t.Errorf("result %+v", res)
		}
	}
}

func TestChildTime(t *testing.T) {
	m := modelFunc(func(ctx context.Context, _ *model.Request, _ func(model.Part) bool) error {
		<-ctx.Done()
		return ctx.Err()
	})
	e := newEnv(t, m, taskt.Limits{ChildTime: time.Second}, nil)
	res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "explore"})
	if res.Status != record.TimedOut || !strings.Contains(res.XML(), "<task_error agent=\"explore\">\nthe time limit of 1s has passed") {
		t.Errorf("result %+v", res)
	}
	if got := res.ForModel(); !strings.Contains(got, "call task with timeoutSeconds") || !strings.Contains(got, "background: true") {
		t.Errorf("its caller is not told how to give it more time: %s", got)
	}
}

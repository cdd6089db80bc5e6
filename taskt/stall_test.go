package taskt_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// TestStallNotice: a subagent in which nothing happens is said to have stalled, on the stream
// and in task_list, and goes on.
func TestStallNotice(t *testing.T) {
	let := make(chan struct{})
	silent := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		select {
		case <-let:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return answer("at last")(ctx, req, yield)
	})
	e := newEnv(t, silent, taskt.Limits{StallNotice: time.Second}, nil)
	run := e.Start(t.Context(), e.root, background("go"))
	var stalled event.Stalled
	for d, err := range e.bus.Follow(t.Context(), recordOf(t, e, run.SessionID()).Path, &eventbus.FollowOptions{Live: true}) {
		if err != nil {
			t.Fatal(err)
		}
		ev, err := event.Decode(d.Raw)
		if err != nil {
			t.Fatal(err)
		}
		if is, ok := ev.(event.Stalled); ok {
			stalled = is
			break
		}
	}
	if stalled.IdleMs < 1000 || stalled.StopsInMs != 0 {
		t.Errorf("%+v", stalled)
	}
	listed, err := e.do(t, scopeOf(e.root.ID()), "task_list", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if list := listed.(*control.List); len(list.Sessions) != 1 || !list.Sessions[0].Stalled || !strings.Contains(list.Answer(), ", stalled") {
		t.Errorf("task_list: %s", list.Answer())
	}
	close(let)
	<-run.Done()
	if r := run.Result(); r.Status != record.Completed || r.Text != "at last" || r.Record.Stalled {
		t.Errorf("it is %s: %q, %v; stalled: %t", r.Status, r.Text, r.Err, r.Record.Stalled)
	}
}

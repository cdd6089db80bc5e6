package taskt_test

import (
	"sync"
	"testing"

	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

// TestThousandCalls: a thousand calls of one definition side by side each have their
// result, and leave nothing that runs.
func TestThousandCalls(t *testing.T) {
	e := newEnv(t, answer("done"), taskt.Limits{Running: 1000, PerParent: 1000}, nil)
	var calls sync.WaitGroup
	for range 1000 {
		calls.Go(func() {
			if res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "explore"}); res.Err != nil || res.Text != "done" || res.Status != record.Completed {
				t.Errorf("%s: %q, %v", res.Status, res.Text, res.Err)
			}
		})
	}
	calls.Wait()
	if load := e.Load(); load.Running > 0 || load.Queued > 0 {
		t.Errorf("%+v", load)
	}
}

package mcpserver_test

import (
	"testing"

	"github.com/agentworker/worker/taskt"
)

// BenchmarkCall measures a call with a model that answers at once, through the
// wire of stdio and within the process. Both store all of their events.
func BenchmarkCall(b *testing.B) {
	b.Run("mcp", func(b *testing.B) {
		host := newEnv(b, modelFunc(echo), 0, nil).connect(b, nil)
		for b.Loop() {
			if res, err := host.CallTool(b.Context(), call("explore", "p")); err != nil || res.IsError {
				b.Fatal(res, err)
			}
		}
	})
	b.Run("service", func(b *testing.B) {
		e := newEnv(b, modelFunc(echo), 0, nil)
		root, err := e.tasks.OpenCaller(b.Context(), "bench")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if res := e.tasks.Call(b.Context(), root, taskt.Input{Description: "a test", Prompt: "p", AgentType: "explore"}); res.Err != nil {
				b.Fatal(res.Err)
			}
		}
	})
}

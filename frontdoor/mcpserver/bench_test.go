package mcpserver_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentworker/worker/session/record"
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
		root, err := e.tasks.OpenCaller(b.Context(), "bench", record.Owner)
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

// BenchmarkList measures tools/list with 1,000 agents.
func BenchmarkList(b *testing.B) {
	files := make(map[string]string)
	for i := range 1000 {
		files[fmt.Sprintf("agent-%d.md", i)] = "---\ndescription: " + strings.Repeat("Does something. ", 20) + "\n---\nDo it.\n"
	}
	host := newEnv(b, modelFunc(echo), 0, files).connect(b, nil)
	for b.Loop() {
		if _, err := host.ListTools(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
	}
}

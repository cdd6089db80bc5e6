package mcpserver_test

import (
	"testing"
)

// BenchmarkHTTPCall measures a call over HTTP with a model that answers at
// once. BenchmarkCall has the same over stdio and within the process.
func BenchmarkHTTPCall(b *testing.B) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		b.Run(version, func(b *testing.B) {
			host := newEnv(b, modelFunc(echo), 0, nil).web(b, nil).connect(b, "bench", version, nil)
			for b.Loop() {
				if res, err := host.CallTool(b.Context(), call("explore", "p")); err != nil || res.IsError {
					b.Fatal(res, err)
				}
			}
			if err := host.Close(); err != nil {
				b.Error(err)
			}
		})
	}
}

package mcpclient_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/tool/mcpclient"
)

// startTime is how much later an agent with five servers may begin whose lists are kept.
const startTime = 150 * time.Millisecond

// five are servers with many tools.
func five() (servers []*mcpconfig.Server) {
	for i := range 5 {
		servers = append(servers, self(fmt.Sprintf("s%d", i), "many=100"))
	}
	return servers
}

// begin is what an agent waits for before its first model call, in a process that has just begun.
func (p *place) begin(tb testing.TB) {
	fresh := mcpclient.New(p.opts)
	if warnings := fresh.Ready(tb.Context(), nil, nil, p.ws); len(warnings) > 0 {
		tb.Fatal(warnings)
	}
	if n := len(fresh.Tools(nil, p.ws)()); n < 500 {
		tb.Fatalf("there are %d tools", n)
	}
}

// TestStart: an agent with five servers starts none of them before it begins.
func TestStart(t *testing.T) {
	p := newPlace(t, five()...)
	p.tools()
	best := time.Hour
	for range 5 {
		began := time.Now()
		p.begin(t)
		best = min(best, time.Since(began))
	}
	if best > startTime {
		t.Errorf("it begins after %v, want %v", best, startTime)
	}
}

func BenchmarkStart(b *testing.B) {
	p := newPlace(b, five()...)
	p.tools()
	for b.Loop() {
		p.begin(b)
	}
}

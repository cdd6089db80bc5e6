package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/frontdoor/mcpserver"
	"github.com/agentworker/worker/internal/errtext"
)

// mcpSettings are what an MCP host needs of which its client says nothing.
type mcpSettings struct {
	callLimit   time.Duration // 0: as is known of the host
	resultLimit int           // characters; 0: as is known of the host
	readOnly    bool
	cancelGrace time.Duration
}

func (m *mcpSettings) register(flags *pflag.FlagSet) {
	flags.DurationVar(&m.callLimit, "mcp-call-limit", 0, "when the MCP host gives up on a call whether or not there is progress, 15s to 24h: a call is answered before (default: as is known of the host)")
	flags.IntVar(&m.resultLimit, "mcp-result-limit", 0, "how many characters of a result reach the MCP host's model, 1000 to 1000000 (default: as is known of the host, else 7500)")
	flags.BoolVar(&m.readOnly, "mcp-read-only", false, "tell MCP hosts that task changes nothing: some run the calls of a turn side by side only then (default: by the rules of the agents)")
	flags.DurationVar(&m.cancelGrace, "mcp-cancel-grace", time.Minute, "how long a subagent goes on after its call was cancelled by an MCP host that cancels alike at its time limit and for its user, 0 (stop at once) to 1h")
}

func (m *mcpSettings) check() error {
	switch {
	case m.callLimit != 0 && (m.callLimit < 15*time.Second || m.callLimit > 24*time.Hour):
		return fmt.Errorf("mcp-call-limit %s is not within 15s and 24h", errtext.Duration(m.callLimit))
	case m.resultLimit != 0 && (m.resultLimit < 1000 || m.resultLimit > 1_000_000):
		return fmt.Errorf("mcp-result-limit %d is not within 1000 and 1000000", m.resultLimit)
	case m.cancelGrace < 0 || m.cancelGrace > time.Hour:
		return fmt.Errorf("mcp-cancel-grace %s is not within 0 and 1h", errtext.Duration(m.cancelGrace))
	}
	return nil
}

// mcpServer returns the MCP server of a worker, for one host or for many.
func (p *program) mcpServer(a *app) *mcpserver.Server {
	m := p.settings.mcp
	return mcpserver.New(mcpserver.Options{
		Tasks: a.tasks, Bus: a.bus, Sessions: a.sessions.Store(), Logger: p.logger(),
		CallLimit: m.callLimit, ResultLimit: m.resultLimit, ReadOnly: m.readOnly, HostModel: p.ofHost(),
		CancelGrace: m.cancelGrace,
	})
}

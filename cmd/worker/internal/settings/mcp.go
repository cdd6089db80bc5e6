package settings

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/internal/errtext"
)

// mcpSettings are what an MCP host needs of which its client says nothing.
type mcpSettings struct {
	CallLimit   time.Duration // 0 means as is known of the host
	ResultLimit int           // characters; 0 means as is known of the host
	ReadOnly    bool
	PerAgent    bool
	CancelGrace time.Duration
}

func (m *mcpSettings) register(flags *pflag.FlagSet) {
	flags.DurationVar(&m.CallLimit, "mcp-call-limit", 0, "when the MCP host gives up on a call whether or not there is progress, 15s to 24h: a call is answered before (default: as is known of the host)")
	flags.IntVar(&m.ResultLimit, "mcp-result-limit", 0, "how many characters of a result reach the MCP host's model, 1000 to 1000000 (default: as is known of the host, else 7500)")
	flags.BoolVar(&m.ReadOnly, "mcp-read-only", false, "tell MCP hosts that task changes nothing: some run the calls of a turn side by side only then (default: by the rules of the agents)")
	flags.BoolVar(&m.PerAgent, "mcp-tool-per-agent", false, "offer MCP hosts a tool for each agent, beside task: hosts that run the calls of read-only tools side by side know which those are")
	flags.DurationVar(&m.CancelGrace, "mcp-cancel-grace", time.Minute, "how long a subagent goes on after its call was cancelled by an MCP host that cancels alike at its time limit and for its user, 0 (stop at once) to 1h")
}

func (m *mcpSettings) check() error {
	switch {
	case m.CallLimit != 0 && (m.CallLimit < 15*time.Second || m.CallLimit > 24*time.Hour):
		return fmt.Errorf("mcp-call-limit %s is not within 15s and 24h", errtext.Duration(m.CallLimit))
	case m.ResultLimit != 0 && (m.ResultLimit < 1000 || m.ResultLimit > 1_000_000):
		return fmt.Errorf("mcp-result-limit %d is not within 1000 and 1000000", m.ResultLimit)
	case m.CancelGrace < 0 || m.CancelGrace > time.Hour:
		return fmt.Errorf("mcp-cancel-grace %s is not within 0 and 1h", errtext.Duration(m.CancelGrace))
	}
	return nil
}

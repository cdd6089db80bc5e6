package settings

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// mcpSettings are what an MCP host needs of which its client says nothing.
type mcpSettings struct {
	CallLimit   time.Duration // 0 means as is known of the host
	ResultLimit int           // characters; 0 means as is known of the host
	ReadOnly    bool
	PerAgent    bool
	CancelGrace time.Duration
}

func (m *mcpSettings) register(flags *pflag.FlagSet, times *times) {
	times.add(flags, &m.CallLimit, "mcp-call-limit", 0, span{15 * time.Second, 24 * time.Hour, true}, "when the MCP host gives up on a call whether or not there is progress, 15s to 24h: a call is answered before (default: as is known of the host)")
	flags.IntVar(&m.ResultLimit, "mcp-result-limit", 0, "how many characters of a result reach the MCP host's model, 1000 to 1000000 (default: as is known of the host, else 7500)")
	flags.BoolVar(&m.ReadOnly, "mcp-read-only", false, "tell MCP hosts that task changes nothing: some run the calls of a turn side by side only then (default: by the rules of the agents)")
	flags.BoolVar(&m.PerAgent, "mcp-tool-per-agent", false, "offer MCP hosts a tool for each agent, beside task: hosts that run the calls of read-only tools side by side know which those are")
	times.add(flags, &m.CancelGrace, "mcp-cancel-grace", time.Minute, span{0, time.Hour, false}, "how long a subagent goes on after its call was cancelled by an MCP host that cancels alike at its time limit and for its user, 0 (stop at once) to 1h")
}

func (m *mcpSettings) check() error {
	if m.ResultLimit != 0 && (m.ResultLimit < 1000 || m.ResultLimit > 1_000_000) {
		return fmt.Errorf("mcp-result-limit %d is not within 1000 and 1000000", m.ResultLimit)
	}
	return nil
}

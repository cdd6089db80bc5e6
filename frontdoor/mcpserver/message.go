package mcpserver

import (
	"fmt"

	"github.com/agentworker/worker/eventbus"
)

// maxMessage bounds a progress message, in characters: hosts give it one line.
const maxMessage = 120

// describe tells in a few words what an agent does now, or "" if the event is
// not worth a message.
func describe(agent string, ev eventbus.Event) string {
	what := ""
	switch ev := ev.(type) {
	case eventbus.StatusChange:
		switch {
		case ev.Retry != nil:
			what = ev.Retry.Summary()
		case ev.Status == eventbus.StatusQueued:
			what = "queued"
		case ev.Status == eventbus.StatusStreaming:
			what = "thinking"
		}
	case eventbus.ToolCallStart:
		what = fmt.Sprintf("step %d: %s", ev.Step, ev.Summary())
	case eventbus.ToolApprovalRequired:
		what = fmt.Sprintf("waits for 'worker approvals approve %s': %s", ev.ApprovalID, ev.Summary())
	case eventbus.Error:
		what = "error: " + ev.Message
	case eventbus.SubagentEvent:
		inner, err := eventbus.Decode(ev.Event)
		if err != nil {
			return ""
		}
		if below := describe(ev.AgentType, inner); below != "" {
			return eventbus.OneLine(agent+" > "+below, maxMessage)
		}
	}
	if what == "" {
		return ""
	}
	return eventbus.OneLine(agent+": "+what, maxMessage)
}

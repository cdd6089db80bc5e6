package mcpserver

import (
	"fmt"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
)

// maxMessage bounds a progress message, in characters: hosts give it one line.
const maxMessage = 120

// describe tells in a few words what an agent does now, or "" if the event is
// not worth a message.
func describe(agent string, ev event.Event) string {
	what := ""
	switch ev := ev.(type) {
	case event.StatusChange:
		switch {
		case ev.Retry != nil:
			what = ev.Retry.Summary()
		case ev.Status == event.StatusQueued:
			what = "queued"
		case ev.Status == event.StatusStreaming:
			what = "thinking"
		}
	case event.ToolCallStart:
		what = fmt.Sprintf("step %d: %s", ev.Step, ev.Summary())
	case event.ToolApprovalRequired:
		what = fmt.Sprintf("waits for 'worker approvals approve %s': %s", ev.ApprovalID, ev.Summary())
	case event.Error:
		what = "error: " + ev.Message
	case event.SubagentEvent:
		inner, err := event.Decode(ev.Event)
		if err != nil {
			return ""
		}
		if below := describe(ev.AgentType, inner); below != "" {
			return termtext.OneLine(agent+" > "+below, maxMessage)
		}
	}
	if what == "" {
		return ""
	}
	return termtext.OneLine(agent+": "+what, maxMessage)
}

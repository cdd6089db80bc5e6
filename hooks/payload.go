package hooks

import (
	"encoding/json"
	"time"

	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/internal/toolcatalog"
)

// Call is what a hook is told.
type Call struct {
	Event       hookconfig.Event
	SessionID   string // of the root
	AgentID     string // of the session, if it is a subagent's
	AgentType   string
	Cwd         string // the folder that paths of the session are relative to
	Traceparent string

	Tool     string // our name
	ID       string // of the call
	Input    json.RawMessage
	Response string // of the tool
	Took     time.Duration
}

// payload returns what the hook reads.
func (c *Call) payload(d hookconfig.Dialect) []byte {
	var doc map[string]any
	if d == hookconfig.Copilot {
		doc = c.copilot()
	} else {
		doc = c.claude()
	}
	text, err := json.Marshal(doc)
	if err != nil { // the input is no JSON
		text = []byte("{}")
	}
	return text
}

func (c *Call) claude() map[string]any {
	doc := map[string]any{
		"session_id": c.SessionID, "transcript_path": "", "cwd": c.Cwd, "permission_mode": "default", "hook_event_name": string(c.Event),
	}
	if c.AgentID != "" {
		doc["agent_id"], doc["agent_type"] = c.AgentID, c.AgentType
	}
	doc["tool_name"], doc["tool_use_id"] = toolcatalog.HookNames(c.Tool, false)[0], c.ID
	doc["tool_input"] = toolcatalog.ToHook(c.Tool, c.Input, c.Cwd, false)
	switch c.Event {
	case hookconfig.PostToolUse:
		doc["duration_ms"] = c.Took.Milliseconds()
		doc["tool_response"] = map[string]any{"content": c.Response, "stdout": c.Response, "stderr": "", "interrupted": false}
	case hookconfig.PostToolUseFailure:
		doc["duration_ms"], doc["error"] = c.Took.Milliseconds(), c.Response
	}
	return doc
}

func (c *Call) copilot() map[string]any {
	doc := map[string]any{"sessionId": c.SessionID, "timestamp": time.Now().UnixMilli(), "cwd": c.Cwd}
	doc["toolName"] = toolcatalog.HookNames(c.Tool, true)[0]
	doc["toolArgs"] = string(toolcatalog.ToHook(c.Tool, c.Input, c.Cwd, true))
	switch c.Event {
	case hookconfig.PostToolUse:
		doc["toolResult"] = map[string]any{"resultType": "success", "textResultForLlm": c.Response}
	case hookconfig.PostToolUseFailure:
		doc["toolResult"] = map[string]any{"resultType": "failure", "textResultForLlm": c.Response}
	}
	return doc
}

package hooks

import (
	"encoding/json"
	"time"

	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
)

// Call is what a hook learns about a call of a tool, or about its session.
type Call struct {
	Event       hookconfig.Event
	Hooks       []*hookconfig.Hook // of the session's agent, and for calls of tools of those above it
	SessionID   string             // of the root
	AgentID     string             // of the session, if it is a subagent's
	AgentType   string
	Cwd         string // the folder that paths of the session are relative to
	Traceparent string

	Tool     string // our name
	ID       string // of the call
	Input    json.RawMessage
	Values   []permission.Value // what the call wants, as rules decide about it; nil means not known
	Response string             // of the tool
	Took     time.Duration

	Source  string // of SessionStart: startup or resume
	Model   string // of SessionStart
	Prompt  string // of SessionStart and UserPromptSubmit
	Answer  string // of Stop and SubagentStop
	Active  bool   // the session goes on since such a hook has wanted it
	Trigger string // of PreCompact: auto
	Kind    string // of Notification: permission_prompt
	Title   string // of Notification
	Message string // of Notification
	Reason  string // of SessionEnd: the session's status
}

// subjects are the words that the matcher of a hook is for.
func (c *Call) subjects(d hookconfig.Dialect) []string {
	switch c.Event {
	case hookconfig.SessionStart:
		return []string{c.Source}
	case hookconfig.SubagentStart, hookconfig.SubagentStop:
		return []string{c.AgentType}
	case hookconfig.PreCompact:
		return []string{c.Trigger}
	case hookconfig.Notification:
		return []string{c.Kind}
	case hookconfig.SessionEnd:
		return []string{c.Reason}
	case hookconfig.Stop, hookconfig.UserPromptSubmit: // their matchers mean nothing
		return nil
	}
	return toolcatalog.HookNames(c.Tool, d == hookconfig.Copilot)
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
	if c.Event.OfTool() {
		doc["tool_name"], doc["tool_use_id"] = toolcatalog.HookNames(c.Tool, false)[0], c.ID
		doc["tool_input"] = toolcatalog.ToHook(c.Tool, c.Input, c.Cwd, false)
	}
	switch c.Event {
	case hookconfig.SessionStart:
		doc["source"], doc["model"] = c.Source, c.Model
	case hookconfig.UserPromptSubmit:
		doc["prompt"] = c.Prompt
	case hookconfig.PostToolUse:
		doc["duration_ms"] = c.Took.Milliseconds()
		doc["tool_response"] = map[string]any{"content": c.Response, "stdout": c.Response, "stderr": "", "interrupted": false}
	case hookconfig.PostToolUseFailure:
		doc["duration_ms"], doc["error"] = c.Took.Milliseconds(), c.Response
	case hookconfig.Notification:
		doc["notification_type"], doc["title"], doc["message"] = c.Kind, c.Title, c.Message
	case hookconfig.PreCompact:
		doc["trigger"], doc["custom_instructions"] = c.Trigger, ""
	case hookconfig.Stop, hookconfig.SubagentStop:
		doc["stop_hook_active"], doc["last_assistant_message"], doc["stop_reason"] = c.Active, c.Answer, "end_turn"
		if c.Event == hookconfig.SubagentStop {
			doc["agent_transcript_path"], doc["agent_name"] = "", c.AgentType
		}
	case hookconfig.SessionEnd:
		doc["reason"] = c.Reason
	}
	return doc
}

// copilot is the payload of events with a small first letter.
func (c *Call) copilot() map[string]any {
	doc := map[string]any{"sessionId": c.SessionID, "timestamp": time.Now().UnixMilli(), "cwd": c.Cwd}
	if c.Event.OfTool() {
		doc["toolName"] = toolcatalog.HookNames(c.Tool, true)[0]
		doc["toolArgs"] = string(toolcatalog.ToHook(c.Tool, c.Input, c.Cwd, true))
	}
	switch c.Event {
	case hookconfig.SessionStart:
		doc["source"], doc["initialPrompt"] = c.Source, c.Prompt
	case hookconfig.UserPromptSubmit:
		doc["prompt"] = c.Prompt
	case hookconfig.SubagentStart:
		doc["transcriptPath"], doc["agentName"] = "", c.AgentType
	case hookconfig.PostToolUse:
		doc["toolResult"] = map[string]any{"resultType": "success", "textResultForLlm": c.Response}
	case hookconfig.PostToolUseFailure:
		doc["toolResult"], doc["error"] = map[string]any{"resultType": "failure", "textResultForLlm": c.Response}, c.Response
	case hookconfig.Notification:
		doc["notification_type"], doc["title"], doc["message"] = c.Kind, c.Title, c.Message
	case hookconfig.PreCompact:
		doc["transcriptPath"], doc["trigger"], doc["customInstructions"] = "", c.Trigger, ""
	case hookconfig.Stop:
		doc["transcriptPath"], doc["stopReason"], doc["stop_hook_active"] = "", "end_turn", c.Active
	case hookconfig.SubagentStop:
		doc["transcriptPath"], doc["stopReason"], doc["response"] = "", "end_turn", c.Answer
		doc["agentId"], doc["agentType"], doc["agentName"] = c.AgentID, c.AgentType, c.AgentType
	case hookconfig.SessionEnd:
		doc["reason"] = c.Reason
	}
	return doc
}

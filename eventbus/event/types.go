package event

import "encoding/json"

// Type implements [Event].
func (SessionStart) Type() string         { return "session_start" }
func (SessionResumed) Type() string       { return "session_resumed" }
func (StatusChange) Type() string         { return "status_change" }
func (ContentDelta) Type() string         { return "content_delta" }
func (ReasoningDelta) Type() string       { return "reasoning_delta" }
func (ToolCallStart) Type() string        { return "tool_call_start" }
func (ToolCallEnd) Type() string          { return "tool_call_end" }
func (ToolApprovalRequired) Type() string { return "tool_approval_required" }
func (ToolApprovalResolved) Type() string { return "tool_approval_resolved" }
func (Check) Type() string                { return "check" }
func (Todo) Type() string                 { return "todo" }
func (Plan) Type() string                 { return "plan" }
func (AgentChanged) Type() string         { return "agent_changed" }
func (ModelPicked) Type() string          { return "model_picked" }
func (Usage) Type() string                { return "usage" }
func (Budget) Type() string               { return "budget" }
func (Stalled) Type() string              { return "stalled" }
func (Warning) Type() string              { return "warning" }
func (ContextCompacted) Type() string     { return "context_compacted" }
func (TurnComplete) Type() string         { return "turn_complete" }
func (Error) Type() string                { return "error" }
func (SessionEnd) Type() string           { return "session_end" }
func (MovedToBackground) Type() string    { return "moved_to_background" }
func (AssignmentChanged) Type() string    { return "assignment_changed" }
func (SubagentEvent) Type() string        { return "subagent_event" }
func (AgentsChanged) Type() string        { return "agents_changed" }
func (u Unknown) Type() string            { return u.TypeName }

var decoders = map[string]func([]byte) (Event, error){}

func init() {
	register[SessionStart]()
	register[SessionResumed]()
	register[StatusChange]()
	register[ContentDelta]()
	register[ReasoningDelta]()
	register[ToolCallStart]()
	register[ToolCallEnd]()
	register[ToolApprovalRequired]()
	register[ToolApprovalResolved]()
	register[Check]()
	register[Todo]()
	register[AgentChanged]()
	register[ModelPicked]()
	register[Plan]()
	register[Usage]()
	register[Budget]()
	register[Stalled]()
	register[Warning]()
	register[ContextCompacted]()
	register[TurnComplete]()
	register[Error]()
	register[SessionEnd]()
	register[MovedToBackground]()
	register[AssignmentChanged]()
	register[SubagentEvent]()
	register[AgentsChanged]()
}

func register[E Event]() {
	var zero E
	decoders[zero.Type()] = func(data []byte) (Event, error) {
		var ev E
		err := json.Unmarshal(data, &ev)
		return ev, err
	}
}

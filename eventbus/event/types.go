package event

import (
	"encoding/json"
	"maps"
	"slices"
)

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
func (QuestionAsked) Type() string        { return "question_asked" }
func (QuestionAnswered) Type() string     { return "question_answered" }
func (ToolProgress) Type() string         { return "tool_progress" }
func (CommandStart) Type() string         { return "command_start" }
func (CommandProgress) Type() string      { return "command_progress" }
func (CommandEnd) Type() string           { return "command_end" }
func (Check) Type() string                { return "check" }
func (Todo) Type() string                 { return "todo" }
func (Plan) Type() string                 { return "plan" }
func (AgentChanged) Type() string         { return "agent_changed" }
func (ModelPicked) Type() string          { return "model_picked" }
func (ModelSwitched) Type() string        { return "model_switched" }
func (ModelRetry) Type() string           { return "model_retry" }
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

// row is what the table has of a type of event.
type row struct {
	decode func([]byte) (Event, error)

	// ofTurns: the event shares one subject of its session with all others that have this.
	// The rest is rare, or looked for by type, and has a subject for each type.
	ofTurns bool
}

// table has a row for each type. A new event is a struct, its Type, its Masked and a row.
var table = map[string]row{}

func init() {
	register[SessionStart](row{ofTurns: true})
	register[SessionResumed](row{ofTurns: true})
	register[StatusChange](row{ofTurns: true})
	register[ContentDelta](row{ofTurns: true})
	register[ReasoningDelta](row{ofTurns: true})
	register[ToolCallStart](row{ofTurns: true})
	register[ToolCallEnd](row{ofTurns: true})
	register[ToolApprovalRequired](row{})
	register[ToolApprovalResolved](row{})
	register[QuestionAsked](row{})
	register[QuestionAnswered](row{})
	register[ToolProgress](row{})
	register[CommandStart](row{})
	register[CommandProgress](row{})
	register[CommandEnd](row{})
	register[Check](row{})
	register[Todo](row{})
	register[AgentChanged](row{})
	register[ModelPicked](row{})
	register[ModelSwitched](row{})
	register[ModelRetry](row{ofTurns: true})
	register[Plan](row{})
	register[Usage](row{ofTurns: true})
	register[Budget](row{})
	register[Stalled](row{})
	register[Warning](row{})
	register[ContextCompacted](row{})
	register[TurnComplete](row{ofTurns: true})
	register[Error](row{})
	register[SessionEnd](row{ofTurns: true})
	register[MovedToBackground](row{})
	register[AssignmentChanged](row{})
	register[SubagentEvent](row{})
	register[AgentsChanged](row{})
}

func register[E Event](r row) {
	var zero E
	r.decode = func(data []byte) (Event, error) {
		var ev E
		err := json.Unmarshal(data, &ev)
		return ev, err
	}
	table[zero.Type()] = r
}

// Types returns the types of all events, sorted.
func Types() []string { return slices.Sorted(maps.Keys(table)) }

// OfTurns reports whether events of a type are stored on the one subject that a session
// has for its start, its end and the events of which its turns consist.
func OfTurns(eventType string) bool { return table[eventType].ofTurns }

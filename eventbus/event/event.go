package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Event is one fact about a session or a workspace. Its JSON is camelCase with
// "type" first, as [Encode] writes it.
type Event interface {
	// Type is the event's name on the wire, for example "content_delta".
	Type() string
}

// SessionStart is the first event of every session.
type SessionStart struct {
	SessionID       string `json:"sessionId"`
	AgentType       string `json:"agentType,omitempty"` // empty means the session represents a caller
	ParentID        string `json:"parentId,omitempty"`
	ParentMessageID string `json:"parentMessageId,omitempty"`
	Description     string `json:"description,omitempty"` // the task in a few words
	Model           string `json:"model,omitempty"`
	Depth           int    `json:"depth"`             // 0 means a root
	Resumes         string `json:"resumes,omitempty"` // the session that has ended, and that this one goes on with
}

// SessionResumed says that the process of a session was gone, and that another one goes
// on with it from what is stored: a message that was cut off is not part of the
// conversation. It is stored on the subject of [SessionEnd], so that of those who would
// end a session or take it over one is first.
type SessionResumed struct {
	Takeover int    `json:"takeover"` // which one of the session, from 1
	BootID   string `json:"bootId"`   // of the process that goes on
}

// Summary says it in a line, for people.
func (r SessionResumed) Summary() string {
	return fmt.Sprintf("its process had gone: another one goes on with it (takeover %d)", r.Takeover)
}

// Status is what a session is doing at the moment. It is for display: [SessionEnd]
// says whether and how a session has ended.
type Status string

// The values of [StatusChange].
const (
	StatusQueued          Status = "queued"
	StatusIdle            Status = "idle"
	StatusStreaming       Status = "streaming"
	StatusExecutingTool   Status = "executing_tool"
	StatusWaitingApproval Status = "waiting_approval"
	StatusPaused          Status = "paused"
	StatusError           Status = "error"
	StatusAborted         Status = "aborted"
)

// StatusChange reports that the session now does something else.
type StatusChange struct {
	Status Status `json:"status"`

	// Retry is set if the session continues with the same status: its model call
	// has failed and is repeated.
	Retry *Retry `json:"retry,omitempty"`

	// Pause is set with [StatusPaused].
	Pause *Pause `json:"pause,omitempty"`
}

// Pause says why a session waits for the provider of its model, and until when.
type Pause struct {
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"`
}

// Retry says why a model call is repeated, and when.
type Retry struct {
	Reason  string `json:"reason"`  // rate_limited, unavailable or another model.ErrorKind
	Try     int    `json:"try"`     // the number of the next try, counted from 1
	Tries   int    `json:"tries"`   // the maximum number of tries
	DelayMs int64  `json:"delayMs"` // from this event to the next try; 0 means a few seconds at most
}

// ContentDelta is the next piece of the answer's text, never all text so far.
type ContentDelta struct {
	MessageID string `json:"messageId"`
	Delta     string `json:"delta"`
	Offset    int    `json:"offset"` // where Delta begins in the message's text, in bytes of UTF-8
}

// ReasoningDelta is the next piece of the model's thinking.
type ReasoningDelta struct {
	MessageID string `json:"messageId"`
	Delta     string `json:"delta"`
	Offset    int    `json:"offset"` // where Delta begins in the message's reasoning, in bytes of UTF-8
}

// ToolCallStart reports that the model has made a tool call. The gate may still
// refuse it; [ToolCallEnd] follows in any case.
type ToolCallStart struct {
	ToolCallID string `json:"toolCallId"`
	ToolName   string `json:"toolName"`
	Arguments  string `json:"arguments"` // JSON, as the model wrote it
	MessageID  string `json:"messageId"`
	Step       int    `json:"step"` // counted from 1 within the session
}

// ToolCallEnd is the outcome of a tool call, as the model sees it.
type ToolCallEnd struct {
	ToolCallID string `json:"toolCallId"`
	ToolName   string `json:"toolName"`
	Result     string `json:"result"`
	IsError    bool   `json:"isError"`
	Truncated  bool   `json:"truncated"`
	Refused    bool   `json:"refused,omitempty"` // by the permission rules or by a person: the tool has not run
	DurationMs int64  `json:"durationMs"`

	// Change is the file that the call has changed, as its tool tells. It is nil
	// if the call has changed no file.
	Change *FileChange `json:"change,omitempty"`

	// Untold says that the call may have changed what its tool does not tell of, as
	// a shell command does.
	Untold bool `json:"untold,omitempty"`
}

// FileChange is a file that a tool has changed.
type FileChange struct {
	Path   string `json:"path"`             // slash-separated, relative to the session's workspace
	Before string `json:"before,omitempty"` // SHA-256 of the content in hex; empty means there was no such file
	After  string `json:"after"`            // the same, as the tool has left it
}

// Todo is the list of what is to be done that a session keeps, as a whole.
type Todo struct {
	Items []TodoItem `json:"items"`
}

// TodoItem is an item of a [Todo].
type TodoItem struct {
	Text   string `json:"text"`
	Status string `json:"status"` // TodoPending, TodoInProgress or TodoDone
}

// The statuses of a [TodoItem].
const (
	TodoPending    = "pending"
	TodoInProgress = "in_progress"
	TodoDone       = "done"
)

// Plan is how a session goes about its task, in Markdown, as a whole.
type Plan struct {
	Text string `json:"text"`
}

// AgentChanged reports that the session goes on as another agent, in the same
// conversation. Its path keeps the name that it began with.
type AgentChanged struct {
	Agent  string `json:"agent"`
	Before string `json:"before"` // the agent that it was
	Model  string `json:"model"`
}

// ModelPicked reports which model was picked for the session before its first model
// call, in place of that of its session_start.
type ModelPicked struct {
	Name  string `json:"name"` // by which it was picked
	Model string `json:"model"`
}

// Check is the outcome of one of the checks of a session: what has to hold for its
// answer to be taken.
type Check struct {
	Path       string `json:"path,omitempty"`    // that must exist; empty means Command is checked
	Command    string `json:"command,omitempty"` // that must end with status 0
	OK         bool   `json:"ok"`
	Output     string `json:"output,omitempty"` // why not: what the command wrote, or the rules say
	DurationMs int64  `json:"durationMs"`
}

// ToolApprovalRequired reports that a tool call waits for a person's answer.
type ToolApprovalRequired struct {
	ApprovalID     string   `json:"approvalId"`
	ToolCallID     string   `json:"toolCallId"`
	ToolName       string   `json:"toolName"`
	Arguments      string   `json:"arguments"` // JSON, as the model wrote it
	SessionID      string   `json:"sessionId"`
	Patterns       []string `json:"patterns"`       // what the call needs, in the form that rules match
	AlwaysPatterns []string `json:"alwaysPatterns"` // what the answer "always" would allow from now on

	// ExpiresAt is when a missing answer counts as a denial.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
}

// ApprovalOutcome is how an approval ended.
type ApprovalOutcome string

// The values of [ToolApprovalResolved].
const (
	Approved  ApprovalOutcome = "approved"
	Denied    ApprovalOutcome = "denied"
	Cancelled ApprovalOutcome = "cancelled" // the session ended first
	Expired   ApprovalOutcome = "expired"
)

// ToolApprovalResolved ends a [ToolApprovalRequired].
type ToolApprovalResolved struct {
	ApprovalID string          `json:"approvalId"`
	Outcome    ApprovalOutcome `json:"outcome"`
}

// Usage counts the tokens of one model call.
type Usage struct {
	InputTokens      int64       `json:"inputTokens"`
	OutputTokens     int64       `json:"outputTokens"`
	CacheReadTokens  int64       `json:"cacheReadTokens,omitempty"`
	CacheWriteTokens int64       `json:"cacheWriteTokens,omitempty"`
	Cost             json.Number `json:"cost,omitempty"` // in US dollars; empty means not known
}

// Budget reports, on the stream of the session that a budget was set for, that 80 or
// 100 percent of it are used.
type Budget struct {
	Limit   string      `json:"limit"`   // tokens, cost, modelCalls, toolCalls or time
	Used    json.Number `json:"used"`    // cost in US dollars, time in seconds
	Max     json.Number `json:"max"`     // likewise
	Percent int         `json:"percent"` // 80: it is said once that so much is used; 100: there is no more
	SetBy   string      `json:"setBy"`   // for people
}

// Stalled reports that nothing has happened in the session for long.
type Stalled struct {
	IdleMs    int64 `json:"idleMs"`    // since the event before
	StopsInMs int64 `json:"stopsInMs"` // it is stopped if nothing happens until then
}

// Warning reports that something is not as it was asked for. The session goes on.
type Warning struct {
	Message string `json:"message"`
}

// ContextCompacted reports that a summary has replaced the older part of the
// conversation.
type ContextCompacted struct {
	Summary string `json:"summary"`
}

// TurnComplete reports that the session has answered its prompt. Clients stop
// showing its children.
type TurnComplete struct {
	Message TurnMessage `json:"message"`
}

// TurnMessage is the last message of a turn.
type TurnMessage struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Error reports that something has gone wrong in the session. [SessionEnd] says what
// it means for the session.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// SessionEnd is the last event of every session.
type SessionEnd struct {
	// Status is completed, failed, cancelled, timed_out or interrupted.
	Status string `json:"status"`
}

// SubagentEvent is the envelope: an event of a child as its parent's stream shows
// it. Event is the child's event, or another envelope.
type SubagentEvent struct {
	AgentType string          `json:"agentType"`
	SessionID string          `json:"sessionId"`
	Event     json.RawMessage `json:"event"`
}

// AgentsChanged reports, on the workspace's own stream, that a new snapshot of agent
// definitions is in force. Its lists are never nil: they are lists in JSON too.
type AgentsChanged struct {
	Version uint64   `json:"version"` // counted by the process, from 1
	Agents  []string `json:"agents"`  // all names, sorted

	// Added, Changed and Removed are sorted names: the difference from the previous
	// event. Changes made while no worker ran are unknown.
	Added   []string `json:"added"`
	Changed []string `json:"changed"`
	Removed []string `json:"removed"`

	// Diagnostics are those of the files, the worst first. If there are many,
	// DiagnosticsOmitted of them are left out.
	Diagnostics        []json.RawMessage `json:"diagnostics"`
	DiagnosticsOmitted int               `json:"diagnosticsOmitted,omitempty"`

	// Fingerprint is equal for equal definitions.
	Fingerprint string `json:"fingerprint"`
}

// Unknown is an event of a type that this version does not know.
type Unknown struct {
	TypeName string
	Raw      json.RawMessage // the whole event
}

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
func (SubagentEvent) Type() string        { return "subagent_event" }
func (AgentsChanged) Type() string        { return "agents_changed" }
func (u Unknown) Type() string            { return u.TypeName }

// Decode reads one event. A type that this version does not know becomes an
// [Unknown], so that a newer worker's events pass through an older client.
func Decode(data []byte) (Event, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("decoding an event: %w", err)
	}
	if head.Type == "" {
		return nil, errors.New("decoding an event: it has no type")
	}
	read, ok := decoders[head.Type]
	if !ok {
		return Unknown{TypeName: head.Type, Raw: bytes.Clone(data)}, nil
	}
	ev, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("decoding a %s event: %w", head.Type, err)
	}
	return ev, nil
}

// Unwrap decodes an event and the envelopes around it, the outermost first. ev is
// never a [SubagentEvent].
func Unwrap(data []byte) (around []SubagentEvent, ev Event, err error) {
	for {
		if ev, err = Decode(data); err != nil {
			return nil, nil, err
		}
		envelope, ok := ev.(SubagentEvent)
		if !ok {
			return around, ev, nil
		}
		around, data = append(around, envelope), envelope.Event
	}
}

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

package event

import (
	"bytes"
	"encoding/json"
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
	AgentType       string `json:"agentType,omitempty"` // empty: the session stands for a caller
	ParentID        string `json:"parentId,omitempty"`
	ParentMessageID string `json:"parentMessageId,omitempty"`
	Description     string `json:"description,omitempty"` // the task in a few words
	Model           string `json:"model,omitempty"`
	Depth           int    `json:"depth"` // 0: a root
}

// Status is what a session is doing at the moment. It is for display; whether
// and how a session has ended is told by [SessionEnd].
type Status string

// The values of [StatusChange].
const (
	StatusQueued          Status = "queued"
	StatusIdle            Status = "idle"
	StatusStreaming       Status = "streaming"
	StatusExecutingTool   Status = "executing_tool"
	StatusWaitingApproval Status = "waiting_approval"
	StatusError           Status = "error"
	StatusAborted         Status = "aborted"
)

// StatusChange tells that the session now does something else.
type StatusChange struct {
	Status Status `json:"status"`

	// Retry is there where the session goes on with the same: its model call
	// has failed, and is made again.
	Retry *Retry `json:"retry,omitempty"`
}

// Retry says why a model call is made again, and when.
type Retry struct {
	Reason  string `json:"reason"`  // rate_limited, unavailable or another model.ErrorKind
	Try     int    `json:"try"`     // the next one, counted from 1
	Tries   int    `json:"tries"`   // how many there are at most
	DelayMs int64  `json:"delayMs"` // from this event to the try; 0: a few seconds at most
}

// ContentDelta is the next piece of the answer's text, never the text so far.
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

// ToolCallStart tells that the model has made a tool call. The gate may still
// refuse it; [ToolCallEnd] follows in any case.
type ToolCallStart struct {
	ToolCallID string `json:"toolCallId"`
	ToolName   string `json:"toolName"`
	Arguments  string `json:"arguments"` // JSON, as the model wrote it
	MessageID  string `json:"messageId"`
	Step       int    `json:"step"` // counted from 1 within the session
}

// ToolCallEnd is the outcome of a tool call, as the model gets to see it.
type ToolCallEnd struct {
	ToolCallID string `json:"toolCallId"`
	ToolName   string `json:"toolName"`
	Result     string `json:"result"`
	IsError    bool   `json:"isError"`
	Truncated  bool   `json:"truncated"`
	Refused    bool   `json:"refused,omitempty"` // the permission rules, or their answer: the tool has not run
	DurationMs int64  `json:"durationMs"`
}

// ToolApprovalRequired tells that a tool call waits for somebody's answer.
type ToolApprovalRequired struct {
	ApprovalID     string   `json:"approvalId"`
	ToolCallID     string   `json:"toolCallId"`
	ToolName       string   `json:"toolName"`
	Arguments      string   `json:"arguments"` // JSON, as the model wrote it
	SessionID      string   `json:"sessionId"`
	Patterns       []string `json:"patterns"`       // what the call wants, as rules see it
	AlwaysPatterns []string `json:"alwaysPatterns"` // what "always" would allow from now on

	// ExpiresAt is when no answer becomes a denial.
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
	InputTokens      int64 `json:"inputTokens"`
	OutputTokens     int64 `json:"outputTokens"`
	CacheReadTokens  int64 `json:"cacheReadTokens,omitempty"`
	CacheWriteTokens int64 `json:"cacheWriteTokens,omitempty"`
}

// ContextCompacted tells that the older part of the conversation was replaced
// by a summary.
type ContextCompacted struct {
	Summary string `json:"summary"`
}

// TurnComplete tells that the session has answered its prompt. Clients clear
// what they show of the children.
type TurnComplete struct {
	Message TurnMessage `json:"message"`
}

// TurnMessage is the last message of a turn.
type TurnMessage struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Error tells that something has gone wrong in the session. What it means for
// the session is told by [SessionEnd].
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// SessionEnd is the last event of every session.
type SessionEnd struct {
	// Status is completed, failed, cancelled, timed_out or interrupted.
	Status string `json:"status"`
}

// SubagentEvent is the envelope: an event of a child as its parent's stream
// shows it. Event is the child's event, or again an envelope.
type SubagentEvent struct {
	AgentType string          `json:"agentType"`
	SessionID string          `json:"sessionId"`
	Event     json.RawMessage `json:"event"`
}

// AgentsChanged tells, on the workspace's own stream, that a new snapshot of
// agent definitions is in force.
// The lists are never nil, so that their JSON is one.
type AgentsChanged struct {
	Version uint64   `json:"version"` // counted by the process, from 1
	Agents  []string `json:"agents"`  // all names, sorted

	// Added, Changed and Removed are names, sorted: the difference to the event
	// before. What was changed while no worker ran is not known.
	Added   []string `json:"added"`
	Changed []string `json:"changed"`
	Removed []string `json:"removed"`

	// Diagnostics is what was found about the files, the worst first;
	// DiagnosticsOmitted of them are left out where there are many.
	Diagnostics        []json.RawMessage `json:"diagnostics"`
	DiagnosticsOmitted int               `json:"diagnosticsOmitted,omitempty"`

	// Fingerprint is the same for the same definitions.
	Fingerprint string `json:"fingerprint"`
}

// Unknown is an event of a type that this version does not know.
type Unknown struct {
	TypeName string
	Raw      json.RawMessage // the whole event
}

// Type implements [Event].
func (SessionStart) Type() string         { return "session_start" }
func (StatusChange) Type() string         { return "status_change" }
func (ContentDelta) Type() string         { return "content_delta" }
func (ReasoningDelta) Type() string       { return "reasoning_delta" }
func (ToolCallStart) Type() string        { return "tool_call_start" }
func (ToolCallEnd) Type() string          { return "tool_call_end" }
func (ToolApprovalRequired) Type() string { return "tool_approval_required" }
func (ToolApprovalResolved) Type() string { return "tool_approval_resolved" }
func (Usage) Type() string                { return "usage" }
func (ContextCompacted) Type() string     { return "context_compacted" }
func (TurnComplete) Type() string         { return "turn_complete" }
func (Error) Type() string                { return "error" }
func (SessionEnd) Type() string           { return "session_end" }
func (SubagentEvent) Type() string        { return "subagent_event" }
func (AgentsChanged) Type() string        { return "agents_changed" }
func (u Unknown) Type() string            { return u.TypeName }

// Encode returns the event's JSON, with "type" first.
func Encode(ev Event) ([]byte, error) {
	if u, ok := ev.(Unknown); ok {
		return u.Raw, nil
	}
	var buf bytes.Buffer
	buf.WriteString(`{"type":"`)
	buf.WriteString(ev.Type())
	buf.WriteByte('"')
	body := buf.Len()
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(ev); err != nil {
		return nil, fmt.Errorf("encoding a %s event: %w", ev.Type(), err)
	}
	buf.Truncate(buf.Len() - 1) // the encoder's line end
	out := buf.Bytes()
	if len(out) == body+2 { // {}
		return append(out[:body], '}'), nil
	}
	out[body] = ','
	return out, nil
}

// Decode reads one event. A type that is not known here becomes an [Unknown],
// so that a newer worker's events pass through an older client.
func Decode(data []byte) (Event, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("decoding an event: %w", err)
	}
	if head.Type == "" {
		return nil, fmt.Errorf("decoding an event: it has no type")
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
	register[StatusChange]()
	register[ContentDelta]()
	register[ReasoningDelta]()
	register[ToolCallStart]()
	register[ToolCallEnd]()
	register[ToolApprovalRequired]()
	register[ToolApprovalResolved]()
	register[Usage]()
	register[ContextCompacted]()
	register[TurnComplete]()
	register[Error]()
	register[SessionEnd]()
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

package event

import "encoding/json"

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

// Todo is a session's whole list of things to do.
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

// Usage counts the tokens of one model call.
type Usage struct {
	InputTokens      int64       `json:"inputTokens"`
	OutputTokens     int64       `json:"outputTokens"`
	CacheReadTokens  int64       `json:"cacheReadTokens,omitempty"`
	CacheWriteTokens int64       `json:"cacheWriteTokens,omitempty"`
	Cost             json.Number `json:"cost,omitempty"` // in US dollars; empty means not known
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

// Package model is the small streaming interface between a session and a
// language model, in its own types.
//
// A [Model] answers a [Request] with a stream of [Part] values: text and
// reasoning as they arrive, each tool call once its arguments are complete,
// the usage, and the reason why the answer ended. The adapters stand in the
// packages below this one; nothing above them knows a provider's wire format.
//
// To write an adapter: begin all work inside the range of the returned
// iterator, stop it when the range is left or ctx ends, yield an [*Error] as
// the last value for anything that went wrong, and end a complete answer with
// exactly one [Stop]. The suite in model/modeltest checks these rules.
package model

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Model is a language model that streams its answers. It is safe for
// concurrent use: the sessions of a worker share one value.
type Model interface {
	// Name is the provider and the model's name there, for example
	// "anthropic/claude-sonnet-5" or "offline".
	Name() string

	// Stream sends req and yields the parts of the answer in order. An error
	// is the last value, and comes with a nil Part. The work is done inside
	// the range: leaving the loop or ending ctx closes the connection, and an
	// iterator that is never ranged over does nothing. An answer that is
	// complete ends with a Stop.
	Stream(ctx context.Context, req *Request) iter.Seq2[Part, error]
}

// Accounted is a model that tells which account at its provider pays for its calls, and
// is bounded by the limits of that: models that share an account return the same
// text, which is no secret.
type Accounted interface{ Account() string }

// Request is one model call. Its values are not changed by an adapter and may
// be shared between calls.
type Request struct {
	System   string    // the system prompt; may be empty
	Messages []Message // oldest first; the last one is of role User
	Tools    []ToolSpec

	// NoToolCalls asks for an answer in text. Tools still names the tools that
	// the messages speak of, since providers refuse a history with tool calls
	// whose tools they do not know.
	NoToolCalls bool

	// Path is the ids of the sessions from the root down to the one that asks.
	// It is empty if no session asks. A provider gets a hash of the first at most.
	Path []string

	// Agent is the name of the agent that asks. A provider gets it only in a header that a person has
	// set: see [AskerOf].
	Agent string

	// LongestAnswer is how many tokens an answer of this model may have, as far as the window has
	// room for it. An API that demands a limit gets it where MaxOutputTokens has none. 0 means that
	// it is not known.
	LongestAnswer int

	Params
}

// Params say how a model is to answer. The zero value leaves all of it to the
// adapter and the provider. What a provider is known to refuse, alone or
// together, its adapter leaves out: the package of each says what that is.
type Params struct {
	MaxOutputTokens int      // 0 means the adapter's default
	Temperature     *float64 // 0 to 2; nil means the provider's default
	TopP            *float64 // 0 to 1; nil means the provider's default

	// Effort is how hard the model is to think: none, minimal, low, medium,
	// high, xhigh or max, in any case. Empty, or any other word: the
	// provider's default.
	Effort string
}

// ToolSpec describes a tool to the model.
type ToolSpec struct {
	Name        string
	Description string
	InputSchema json.RawMessage // a JSON Schema whose type is object
}

// Role says who wrote a message.
type Role string

// The roles. The system prompt is not a message but [Request.System]; the results
// of tool calls are a message of role User.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one message of a conversation. Its JSON is what a session stores.
type Message struct {
	Role      Role        `json:"role"`
	Reasoning []Reasoning `json:"reasoning,omitempty"` // Assistant only
	Text      string      `json:"text,omitempty"`
	Images    []Image     `json:"images,omitempty"`    // User only
	ToolCalls []ToolCall  `json:"toolCalls,omitempty"` // Assistant only

	// ToolResults answer the tool calls of the assistant message before this
	// one, all of them and in its order. User only.
	ToolResults []ToolResult `json:"toolResults,omitempty"`
}

// Reasoning is a block of the model's thinking, kept so that it can be handed
// back: some providers require it, unchanged, beside the tool calls it led to.
type Reasoning struct {
	Text string `json:"text,omitempty"`
	// Signature is opaque to everyone but the adapter that made it.
	Signature string `json:"signature,omitempty"`
	// Redacted is a block that the provider sends encrypted, in place of Text.
	Redacted string `json:"redacted,omitempty"`
}

// ToolResult is the outcome of a tool call, as the model sees it.
type ToolResult struct {
	ToolCallID string  `json:"toolCallId"`
	Text       string  `json:"text"`
	Images     []Image `json:"images,omitempty"`
	IsError    bool    `json:"isError,omitempty"`
}

// Part is one piece of a streamed answer: [Retry], [TextDelta], [TextWasReasoning],
// [ReasoningDelta], [Reasoning], [ToolCallDelta], [ToolCall], [Usage] or [Stop].
type Part interface{ part() }

// Retry tells, before anything of the answer, that the call is made again. It
// is for display.
type Retry struct {
	Reason ErrorKind     // what came of the try before
	Try    int           // the next one, counted from 1
	Tries  int           // how many there are at most
	Wait   time.Duration // until it begins; 0 means a few seconds at most
}

// TextDelta is the next piece of the answer's text: never the text so far,
// never empty, and whole UTF-8 characters.
type TextDelta struct{ Text string }

// TextWasReasoning tells that all text of the answer so far was the model's thinking.
type TextWasReasoning struct{}

// ReasoningDelta is the next piece of the model's thinking, for display.
type ReasoningDelta struct{ Text string }

// ToolCallDelta tells that more of a tool call has come, which is not complete yet.
type ToolCallDelta struct{}

// ToolCall is a tool call of the model, yielded once, when its arguments have
// arrived in full.
type ToolCall struct {
	ID   string `json:"id"` // unique within the answer; the result names it
	Name string `json:"name"`
	// Arguments is what the model wrote, which is not always valid JSON: whoever
	// runs the call checks it. A call without arguments has "{}".
	Arguments string `json:"arguments"`
}

// Usage counts tokens. In a stream the last one of an answer counts; it covers
// the whole call.
type Usage struct {
	InputTokens      int64 `json:"inputTokens"`                // all of the input, cached or not
	OutputTokens     int64 `json:"outputTokens"`               // reasoning included
	CacheReadTokens  int64 `json:"cacheReadTokens,omitempty"`  // the part of InputTokens read from a cache
	CacheWriteTokens int64 `json:"cacheWriteTokens,omitempty"` // the part of InputTokens written to a cache

	// Cost is what they cost, in US dollars. Empty means it is not known; see [Usage.Paid].
	Cost json.Number `json:"cost,omitempty"`
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:      u.InputTokens + v.InputTokens,
		OutputTokens:     u.OutputTokens + v.OutputTokens,
		CacheReadTokens:  u.CacheReadTokens + v.CacheReadTokens,
		CacheWriteTokens: u.CacheWriteTokens + v.CacheWriteTokens,
		Cost:             u.costWith(v),
	}
}

// Stop is the last part of a complete answer.
type Stop struct{ Reason StopReason }

// StopReason says why an answer ended.
type StopReason string

// The stop reasons. An adapter maps what it does not know to StopEnd, or to
// StopToolCalls where the answer holds tool calls.
const (
	StopEnd       StopReason = "end"
	StopToolCalls StopReason = "tool_calls"
	StopMaxTokens StopReason = "max_tokens" // cut off by the output limit
	StopRefusal   StopReason = "refusal"    // the provider's safety filter
)

func (Retry) part()            {}
func (TextDelta) part()        {}
func (TextWasReasoning) part() {}
func (ReasoningDelta) part()   {}
func (Reasoning) part()        {} // a finished block, which the message keeps
func (ToolCallDelta) part()    {}
func (ToolCall) part()         {}
func (Usage) part()            {}
func (Stop) part()             {}

package openaimodel

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/openaiwire"
)

// completion is a request as the API takes it: https://platform.openai.com/docs/api-reference/chat/create
type completion struct {
	Model               string        `json:"model"`
	Messages            []message     `json:"messages"`
	Tools               []tool        `json:"tools,omitempty"`
	ToolChoice          string        `json:"tool_choice,omitempty"`
	MaxTokens           int           `json:"max_tokens,omitempty"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitempty"`
	Temperature         *float64      `json:"temperature,omitempty"`
	TopP                *float64      `json:"top_p,omitempty"`
	ReasoningEffort     string        `json:"reasoning_effort,omitempty"`
	PromptCacheKey      string        `json:"prompt_cache_key,omitempty"`
	Stream              bool          `json:"stream"`
	StreamOptions       streamOptions `json:"stream_options"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// message is a message of any role.
type message struct {
	Role             string            `json:"role"`
	Content          contents          `json:"content"` // null beside tool calls: DeepSeek wants the field
	ReasoningContent *string           `json:"reasoning_content,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
	ReasoningOpaque  string            `json:"reasoning_opaque,omitempty"`
	ToolCalls        []toolCall        `json:"tool_calls,omitempty"`
	ToolCallID       *string           `json:"tool_call_id,omitempty"`

	beside bool // a text that came with the results of tools, as notes to the model do
}

type toolCall struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Function functionCall    `json:"function"`
	Extra    json.RawMessage `json:"extra_content,omitempty"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

// function is a function that the model may call. The schema is handed over unchanged:
// a model writes the properties in its order.
type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// body returns the API's form of a request.
func (m *Model) body(req *model.Request) ([]byte, error) {
	params := completion{Model: m.server.Model, Stream: true, StreamOptions: streamOptions{IncludeUsage: true}}
	if m.server.Known.OpenAI {
		params.MaxCompletionTokens = max(0, req.MaxOutputTokens)
	} else {
		params.MaxTokens = max(0, req.MaxOutputTokens)
	}
	m.sampling(&params, req)
	if m.server.Known.Name == "openai" {
		params.PromptCacheKey = openaiwire.CacheKey(req)
	}
	for _, spec := range req.Tools {
		if len(spec.InputSchema) > 0 && !json.Valid(spec.InputSchema) {
			return nil, fmt.Errorf("the input schema of tool %s is not valid JSON", spec.Name)
		}
		params.Tools = append(params.Tools, tool{"function", function{spec.Name, spec.Description, spec.InputSchema}})
	}
	if req.NoToolCalls && len(params.Tools) > 0 {
		params.ToolChoice = "none"
	}
	if req.System != "" {
		params.Messages = append(params.Messages, message{Role: "system", Content: contents{text: &req.System}})
	}
	system := len(params.Messages)
	thinks := !m.server.Known.OpenAI && !m.server.Known.NoThinks && !m.forgets.Load() && slices.ContainsFunc(req.Messages, func(msg model.Message) bool { return reasoning(msg) != "" })
	for _, msg := range req.Messages {
		if msg.Role == model.Assistant {
			params.Messages = append(params.Messages, m.assistant(msg, thinks)...)
		} else {
			params.Messages = append(params.Messages, m.user(msg)...)
		}
	}
	if len(params.Messages) == system {
		return nil, errors.New("the request has no message with any content")
	}
	if !m.server.Known.AnyOrder {
		params.Messages = inOrder(params.Messages)
	}
	return json.Marshal(params)
}

// user returns the messages of one of ours: a message for each tool result,
// then the text and the images.
func (m *Model) user(msg model.Message) []message {
	var messages []message
	for _, result := range msg.ToolResults {
		text := openaiwire.Output(result)
		id := m.callID(result.ToolCallID)
		messages = append(messages, message{Role: "tool", Content: contents{text: &text}, ToolCallID: &id})
	}
	if said := ofUser(msg); *said.text != "" || len(said.images) > 0 {
		messages = append(messages, message{Role: "user", Content: said, beside: len(msg.ToolResults) > 0})
	}
	return messages
}

// assistant returns the message of one of ours, or none for an empty one, which
// the API refuses. thinks says that the conversation is one with reasoning:
// DeepSeek then wants the field beside tool calls even where it is empty.
func (m *Model) assistant(msg model.Message, thinks bool) []message {
	if msg.Text == "" && len(msg.ToolCalls) == 0 {
		return nil
	}
	out := message{Role: "assistant"}
	if msg.Text != "" {
		out.Content.text = &msg.Text
	}
	var back sealed
	if !m.server.Known.OpenAI {
		back = sealedIn(msg)
	}
	out.ReasoningDetails, out.ReasoningOpaque = back.Details, back.Opaque
	for i, call := range msg.ToolCalls {
		sent := toolCall{ID: m.callID(call.ID), Type: "function", Function: functionCall{model.ToolName(call.Name), openaiwire.Arguments(call.Arguments)}}
		switch {
		case i < len(back.Calls) && openaiwire.Says(back.Calls[i]):
			sent.Extra = back.Calls[i]
		case i == 0 && m.server.Known.Name == "gemini": // it demands one of the first call
			sent.Extra = unsigned
		}
		out.ToolCalls = append(out.ToolCalls, sent)
	}
	thought := reasoning(msg)
	if thinks && (thought != "" || len(msg.ToolCalls) > 0) {
		out.ReasoningContent = &thought
	}
	return []message{out}
}

// maxCallID is the longest id of a tool call that OpenAI takes.
const maxCallID = 40

// mistralID matches the ids of tool calls that Mistral takes.
var mistralID = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// callID returns an id of a tool call that the server takes. Those of other servers, and those that
// are made up, may have another form.
func (m *Model) callID(id string) string {
	if fits := len(id) <= maxCallID; fits && (m.server.Known.Name != "mistral" || mistralID.MatchString(id)) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:9]
}

// reasoning returns the reasoning of a message that this adapter has made:
// what others make has a signature or is redacted.
func reasoning(msg model.Message) string {
	var texts []string
	for _, r := range msg.Reasoning {
		if r.Signature == "" && r.Redacted == "" && r.Text != "" {
			texts = append(texts, r.Text)
		}
	}
	return strings.Join(texts, "\n")
}

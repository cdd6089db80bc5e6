package modeltest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/model"
)

// anthropicRequest is the body of a Messages request, as far as it is read.
type anthropicRequest struct {
	Model       string
	MaxTokens   int `json:"max_tokens"`
	System      anthropicBlocks
	Messages    []anthropicMessage
	Tools       []anthropicTool
	ToolChoice  *struct{ Type string } `json:"tool_choice"`
	Stream      bool
	Temperature *float64
	TopP        *float64 `json:"top_p"`

	OutputConfig struct{ Effort string } `json:"output_config"`
}

type anthropicMessage struct {
	Role    string
	Content anthropicBlocks
}

type anthropicTool struct {
	Name         string
	Description  string
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl any             `json:"cache_control"`
}

type anthropicBlock struct {
	Type         string
	Text         string
	Thinking     string
	Signature    string
	Data         string
	ID           string
	Name         string
	Input        json.RawMessage
	ToolUseID    string `json:"tool_use_id"`
	Content      anthropicBlocks
	IsError      bool `json:"is_error"`
	Source       imageSource
	CacheControl any `json:"cache_control"`
}

// anthropicBlocks are content blocks; a string stands for one of text.
type anthropicBlocks []anthropicBlock

func (b *anthropicBlocks) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*b = anthropicBlocks{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(data, (*[]anthropicBlock)(b))
}

func (b anthropicBlocks) text() string {
	var all strings.Builder
	for _, block := range b {
		all.WriteString(block.Text)
	}
	return all.String()
}

// toolID is what the API takes as the id of a tool call.
var toolID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

func (anthropicWire) parse(header http.Header, body []byte) (*parsed, *refusal) {
	var req anthropicRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, refuse(400, "the request body is not valid JSON: %v", err)
	}
	switch {
	case header.Get("Anthropic-Version") == "":
		return nil, refuse(400, "anthropic-version: header is required")
	case req.Model == "":
		return nil, refuse(400, "model: Field required")
	case req.MaxTokens <= 0:
		return nil, refuse(400, "max_tokens: Field required")
	case !req.Stream:
		return nil, refuse(400, "this server only streams")
	case len(req.Messages) == 0:
		return nil, refuse(400, "messages: at least one message is required")
	case req.Messages[0].Role != "user":
		return nil, refuse(400, "messages: first message must use the \"user\" role")
	case req.ToolChoice != nil && len(req.Tools) == 0:
		return nil, refuse(400, "tool_choice may only be specified while providing tools.")
	}
	if refused := req.checkCaching(); refused != nil {
		return nil, refused
	}
	out := &parsed{model: req.Model, Request: &model.Request{
		System:      req.System.text(),
		NoToolCalls: req.ToolChoice != nil && req.ToolChoice.Type == "none",
		Params: model.Params{
			MaxOutputTokens: req.MaxTokens, Temperature: req.Temperature, TopP: req.TopP, Effort: req.OutputConfig.Effort,
		},
	}}
	for _, tool := range req.Tools {
		if len(tool.InputSchema) == 0 {
			return nil, refuse(400, "tools: input_schema: Field required")
		}
		out.Tools = append(out.Tools, model.ToolSpec{Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema})
	}
	for i, message := range req.Messages {
		if message.Role == "system" && i > 0 && header.Get("Anthropic-Beta") != "" {
			// Claude Code says so, under a beta header, what belongs to the system prompt.
			out.System += message.Content.text()
			continue
		}
		msg, refused := message.read(i)
		if refused != nil {
			return nil, refused
		}
		out.Messages = append(out.Messages, msg)
	}
	return out, checkToolResults(out.Messages)
}

// checkCaching refuses more than the four cache breakpoints that are allowed.
func (req *anthropicRequest) checkCaching() *refusal {
	n := 0
	count := func(control any) {
		if control != nil {
			n++
		}
	}
	for _, block := range req.System {
		count(block.CacheControl)
	}
	for _, tool := range req.Tools {
		count(tool.CacheControl)
	}
	for _, message := range req.Messages {
		for _, block := range message.Content {
			count(block.CacheControl)
		}
	}
	if n > 4 {
		return refuse(400, "A maximum of 4 blocks with cache_control may be provided. Found %d.", n)
	}
	return nil
}

// read returns the message of ours that m is.
func (m anthropicMessage) read(i int) (msg model.Message, refused *refusal) {
	msg.Role = model.Role(m.Role)
	if msg.Role != model.User && msg.Role != model.Assistant {
		return msg, refuse(400, "messages.%d.role: unexpected role %q", i, m.Role)
	}
	if len(m.Content) == 0 {
		return msg, refuse(400, "messages.%d: all messages must have non-empty content", i)
	}
	for j, block := range m.Content {
		switch {
		case block.Type == "text":
			if strings.TrimSpace(block.Text) == "" {
				return msg, refuse(400, "messages.%d: text content blocks must contain non-whitespace text", i)
			}
			msg.Text += block.Text
		case block.Type == "image" && msg.Role == model.User:
			image, refused := block.Source.read(i)
			if refused != nil {
				return msg, refused
			}
			msg.Images = append(msg.Images, image)
		case block.Type == "tool_result" && msg.Role == model.User:
			if msg.Text != "" || len(msg.Images) > 0 {
				return msg, refuse(400, "messages.%d.content.%d: `tool_result` blocks must come first", i, j)
			}
			result := model.ToolResult{ToolCallID: block.ToolUseID, Text: block.Content.text(), IsError: block.IsError}
			for _, inner := range block.Content {
				if inner.Type == "image" {
					image, refused := inner.Source.read(i)
					if refused != nil {
						return msg, refused
					}
					result.Images = append(result.Images, image)
				}
			}
			msg.ToolResults = append(msg.ToolResults, result)
		case block.Type == "tool_use" && msg.Role == model.Assistant:
			if !toolID.MatchString(block.ID) {
				return msg, refuse(400, "messages.%d.content.%d.tool_use.id: String should match pattern '%v'", i, j, toolID)
			}
			if !bytes.HasPrefix(block.Input, []byte("{")) {
				return msg, refuse(400, "messages.%d.content.%d.tool_use.input: Input should be a valid dictionary", i, j)
			}
			msg.ToolCalls = append(msg.ToolCalls, model.ToolCall{ID: block.ID, Name: block.Name, Arguments: string(block.Input)})
		case block.Type == "thinking" && msg.Role == model.Assistant:
			if block.Signature == "" {
				return msg, refuse(400, "messages.%d.content.%d: Invalid `signature` in `thinking` block", i, j)
			}
			msg.Reasoning = append(msg.Reasoning, model.Reasoning{Text: block.Thinking, Signature: block.Signature})
		case block.Type == "redacted_thinking" && msg.Role == model.Assistant:
			msg.Reasoning = append(msg.Reasoning, model.Reasoning{Redacted: block.Data})
		default:
			return msg, refuse(400, "messages.%d.content.%d: unexpected block of type %q", i, j, block.Type)
		}
		if (block.Type == "thinking" || block.Type == "redacted_thinking") && block.CacheControl != nil {
			return msg, refuse(400, "messages.%d.content.%d: cache_control is not allowed on thinking blocks", i, j)
		}
	}
	return msg, nil
}

// checkToolResults refuses a conversation in which a tool call is not answered
// by the message after it, or a result answers no call. The order of the results
// is free: hosts send them as the calls end.
func checkToolResults(messages []model.Message) *refusal {
	for i, msg := range messages {
		var want, got []string
		if i > 0 {
			for _, call := range messages[i-1].ToolCalls {
				want = append(want, call.ID)
			}
		}
		for _, result := range msg.ToolResults {
			got = append(got, result.ToolCallID)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			return refuse(400, "messages.%d: tool calls %v of the message before are answered by results %v", i, want, got)
		}
	}
	if n := len(messages); n > 0 && len(messages[n-1].ToolCalls) > 0 {
		return refuse(400, "messages.%d: tool calls without results", n-1)
	}
	return nil
}

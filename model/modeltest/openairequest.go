package modeltest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/agentworker/worker/model"
)

// openaiRequest is the body of a Chat Completions request: the fields that are read.
type openaiRequest struct {
	Model         string
	Messages      []openaiMessage
	Tools         []openaiTool
	ToolChoice    any `json:"tool_choice"`
	Stream        bool
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           int `json:"max_tokens"`
	MaxCompletionTokens int `json:"max_completion_tokens"`
	Temperature         *float64
	TopP                *float64 `json:"top_p"`
	ReasoningEffort     string   `json:"reasoning_effort"`
}

type openaiTool struct {
	Type     string
	Function struct {
		Name        string
		Description string
		Parameters  json.RawMessage
	}
}

type openaiMessage struct {
	Role             string
	Content          openaiText
	ReasoningContent string `json:"reasoning_content"`
	ToolCallID       string `json:"tool_call_id"`
	ToolCalls        []struct {
		ID       string
		Type     string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

// openaiText is a string, a list of parts, or null.
type openaiText struct {
	text   string
	images []model.Image
}

func (t *openaiText) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &t.text) == nil {
		return nil
	}
	var parts []struct {
		Text     string
		ImageURL openaiURL `json:"image_url"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		t.text += part.Text
		if part.ImageURL == "" {
			continue
		}
		image, err := dataURL(string(part.ImageURL))
		if err != nil {
			return err
		}
		t.images = append(t.images, image)
	}
	return nil
}

// openaiURL is the URL of an image: a string of the Responses API, and an object of Chat
// Completions.
type openaiURL string

func (u *openaiURL) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, (*string)(u)) == nil {
		return nil
	}
	return json.Unmarshal(data, &struct{ URL *string }{(*string)(u)})
}

func (openaiWire) parse(_ http.Header, body []byte) (*parsed, *refusal) {
	var req openaiRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, refuse(400, "We could not parse the JSON body of your request: %v", err)
	}
	switch {
	case req.Model == "":
		return nil, refuse(400, "you must provide a model parameter")
	case !req.Stream:
		return nil, refuse(400, "this server only streams")
	case req.ToolChoice != nil && len(req.Tools) == 0:
		return nil, refuse(400, "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
	}
	out := &parsed{model: req.Model, includeUsage: req.StreamOptions.IncludeUsage, Request: &model.Request{
		NoToolCalls: req.ToolChoice == "none",
		Params: model.Params{
			MaxOutputTokens: max(req.MaxTokens, req.MaxCompletionTokens),
			Temperature:     req.Temperature, TopP: req.TopP, Effort: req.ReasoningEffort,
		},
	}}
	for _, tool := range req.Tools {
		if tool.Type != "function" || tool.Function.Name == "" {
			return nil, refuse(400, "Missing required parameter: 'tools[0].function.name'.")
		}
		out.Tools = append(out.Tools, model.ToolSpec{
			Name: tool.Function.Name, Description: tool.Function.Description, InputSchema: tool.Function.Parameters,
		})
	}
	for i, message := range req.Messages {
		if refused := message.add(out.Request, i); refused != nil {
			return nil, refused
		}
	}
	if len(out.Messages) == 0 {
		return nil, refuse(400, "Invalid 'messages': empty array.")
	}
	if refused := checkToolResults(out.Messages); refused != nil {
		return nil, refuse(400, "An assistant message with 'tool_calls' must be followed by tool messages "+
			"responding to each 'tool_call_id': %s", refused.message)
	}
	return out, nil
}

// add adds m to the messages of a request: tool messages and the user message
// after them are one message of ours.
func (m openaiMessage) add(req *model.Request, i int) *refusal {
	switch m.Role {
	case "system", "developer":
		req.System += m.Content.text
	case "user":
		if n := len(req.Messages); n > 0 && len(req.Messages[n-1].ToolResults) > 0 && req.Messages[n-1].Text == "" {
			req.Messages[n-1].Text, req.Messages[n-1].Images = m.Content.text, m.Content.images
			return nil
		}
		req.Messages = append(req.Messages, model.Message{Role: model.User, Text: m.Content.text, Images: m.Content.images})
	case "assistant":
		msg := model.Message{Role: model.Assistant, Text: m.Content.text}
		if m.ReasoningContent != "" {
			msg.Reasoning = []model.Reasoning{{Text: m.ReasoningContent}}
		}
		for _, call := range m.ToolCalls {
			if call.Type != "function" || call.ID == "" || call.Function.Name == "" {
				return refuse(400, "Invalid value for 'messages[%d].tool_calls': %v", i, call)
			}
			msg.ToolCalls = append(msg.ToolCalls, model.ToolCall{
				ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments,
			})
		}
		if msg.Text == "" && len(msg.ToolCalls) == 0 {
			return refuse(400, "Invalid value for 'messages[%d].content': expected a string, got null.", i)
		}
		req.Messages = append(req.Messages, msg)
	case "tool":
		if len(m.Content.images) > 0 {
			return refuse(400, "Invalid value for 'messages[%d].content': a tool message takes text alone", i)
		}
		result := model.ToolResult{ToolCallID: m.ToolCallID, Text: m.Content.text}
		if n := len(req.Messages); n > 0 && req.Messages[n-1].Role == model.User && req.Messages[n-1].Text == "" {
			req.Messages[n-1].ToolResults = append(req.Messages[n-1].ToolResults, result)
			return nil
		}
		req.Messages = append(req.Messages, model.Message{Role: model.User, ToolResults: []model.ToolResult{result}})
	default:
		roles := []string{"system", "developer", "user", "assistant", "tool"}
		slices.Sort(roles)
		return refuse(400, "Invalid value for 'messages[%d].role': %q (use %s)", i, m.Role, strings.Join(roles, ", "))
	}
	return nil
}

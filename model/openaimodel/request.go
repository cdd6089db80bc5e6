package openaimodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/agentworker/worker/model"
)

// params returns the API's form of a request.
func (m *Model) params(req *model.Request) (openai.ChatCompletionNewParams, error) {
	params := openai.ChatCompletionNewParams{
		Model:         m.name,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	if req.MaxOutputTokens > 0 {
		limit := openai.Int(int64(req.MaxOutputTokens))
		if m.official {
			params.MaxCompletionTokens = limit
		} else {
			params.MaxTokens = limit
		}
	}
	m.sampling(&params, req)
	for _, spec := range req.Tools {
		tool, err := toolParam(spec)
		if err != nil {
			return params, err
		}
		params.Tools = append(params.Tools, tool)
	}
	if req.NoToolCalls && len(params.Tools) > 0 {
		params.ToolChoice.OfAuto = openai.String("none")
	}
	var messages []openai.ChatCompletionMessageParamUnion
	thinks := !m.official && slices.ContainsFunc(req.Messages, func(msg model.Message) bool { return reasoning(msg) != "" })
	for _, msg := range req.Messages {
		if msg.Role == model.Assistant {
			messages = append(messages, assistant(msg, thinks)...)
		} else {
			messages = append(messages, user(msg)...)
		}
	}
	if len(messages) == 0 {
		return params, errors.New("the request has no message with any content")
	}
	if req.System != "" {
		params.Messages = append(params.Messages, openai.SystemMessage(req.System))
	}
	params.Messages = append(params.Messages, messages...)
	return params, nil
}

// function is a function as the API takes it. The SDK's type would put the
// schema's properties into another order, which is the one in which the model
// writes them.
type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

func toolParam(spec model.ToolSpec) (openai.ChatCompletionToolUnionParam, error) {
	if len(spec.InputSchema) > 0 && !json.Valid(spec.InputSchema) {
		return openai.ChatCompletionToolUnionParam{}, fmt.Errorf("the input schema of tool %s is not valid JSON", spec.Name)
	}
	return openai.ChatCompletionFunctionTool(param.Override[shared.FunctionDefinitionParam](
		function{Name: spec.Name, Description: spec.Description, Parameters: spec.InputSchema},
	)), nil
}

// user returns the messages of one of ours: a message for each tool result,
// then the text.
func user(msg model.Message) []openai.ChatCompletionMessageParamUnion {
	var messages []openai.ChatCompletionMessageParamUnion
	for _, result := range msg.ToolResults {
		text := result.Text
		if result.IsError && !strings.HasPrefix(strings.ToLower(text), "error") {
			text = "Error: " + text
		}
		messages = append(messages, openai.ToolMessage(text, result.ToolCallID))
	}
	if msg.Text != "" {
		messages = append(messages, openai.UserMessage(msg.Text))
	}
	return messages
}

// assistant returns the message of one of ours, or none for an empty one, which
// the API refuses. thinks says that the conversation is one with reasoning:
// DeepSeek then wants the field beside tool calls even where it is empty.
func assistant(msg model.Message, thinks bool) []openai.ChatCompletionMessageParamUnion {
	if msg.Text == "" && len(msg.ToolCalls) == 0 {
		return nil
	}
	var out openai.ChatCompletionAssistantMessageParam
	out.Content.OfString = param.Null[string]() // DeepSeek wants the field
	if msg.Text != "" {
		out.Content.OfString = openai.String(msg.Text)
	}
	for _, call := range msg.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: call.ID,
				Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name: call.Name, Arguments: arguments(call.Arguments),
				},
			},
		})
	}
	thought := reasoning(msg)
	if thinks && (thought != "" || len(msg.ToolCalls) > 0) {
		out.SetExtraFields(map[string]any{"reasoning_content": thought})
	}
	return []openai.ChatCompletionMessageParamUnion{{OfAssistant: &out}}
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

// arguments returns the arguments of a tool call as a JSON object. OpenAI takes
// any text back, but Ollama and the chat templates of vLLM read it and fail the
// whole request if it is none.
func arguments(text string) string {
	raw := bytes.TrimSpace([]byte(text))
	if bytes.HasPrefix(raw, []byte("{")) && json.Valid(raw) {
		return text
	}
	wrapped, err := json.Marshal(map[string]string{"INVALID_JSON": text})
	if err != nil {
		return "{}" // a map of strings has a JSON
	}
	return string(wrapped)
}

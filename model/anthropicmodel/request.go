package anthropicmodel

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/agentworker/worker/model"
)

// params returns the API's form of a request.
func (m *Model) params(req *model.Request) (anthropic.MessageNewParams, error) {
	most := cmp.Or(max(0, req.MaxOutputTokens), max(0, req.LongestAnswer), defaultMaxOutputTokens)
	params := anthropic.MessageNewParams{Model: m.name, MaxTokens: int64(most)}
	m.sampling(&params, req.Params)
	if !blank(req.System) {
		params.System = []anthropic.TextBlockParam{{Text: req.System, CacheControl: anthropic.NewCacheControlEphemeralParam()}}
	}
	for _, spec := range req.Tools {
		tool, err := toolParam(spec)
		if err != nil {
			return params, err
		}
		params.Tools = append(params.Tools, anthropic.ToolUnionParam{OfTool: tool})
	}
	if n := len(params.Tools); n > 0 {
		params.Tools[n-1].OfTool.CacheControl = anthropic.NewCacheControlEphemeralParam()
		if req.NoToolCalls {
			params.ToolChoice.OfNone = &anthropic.ToolChoiceNoneParam{}
		}
	}
	unsigned := m.unsigned && !signed(req.Messages)
	for _, msg := range req.Messages {
		blocks := content(msg, unsigned)
		if len(blocks) == 0 || msg.Role == model.Assistant && blank(msg.Text) && len(msg.ToolCalls) == 0 {
			continue // the API refuses empty messages, and ones of reasoning alone
		}
		role := anthropic.MessageParamRoleUser
		if msg.Role == model.Assistant {
			role = anthropic.MessageParamRoleAssistant
		}
		params.Messages = append(params.Messages, anthropic.MessageParam{Role: role, Content: blocks})
	}
	if len(params.Messages) == 0 {
		return params, errors.New("the request has no message with any content")
	}
	markTurns(params.Messages)
	return params, nil
}

// markTurns marks the ends of the user's last two messages as cache breakpoints. The earlier one is
// where the request before ended. The API looks back over 20 blocks from a breakpoint, and a step may
// have more.
func markTurns(messages []anthropic.MessageParam) {
	marked := 0
	for _, msg := range slices.Backward(messages) {
		if msg.Role != anthropic.MessageParamRoleUser || marked == 2 {
			continue
		}
		if control := msg.Content[len(msg.Content)-1].GetCacheControl(); control != nil {
			*control = anthropic.NewCacheControlEphemeralParam()
			marked++
		}
	}
}

// toolParam hands the schema over unchanged: a model writes the properties in its
// order.
func toolParam(spec model.ToolSpec) (*anthropic.ToolParam, error) {
	schema := spec.InputSchema
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	if !json.Valid(schema) {
		return nil, fmt.Errorf("the input schema of tool %s is not valid JSON", spec.Name)
	}
	tool := &anthropic.ToolParam{Name: spec.Name, InputSchema: param.Override[anthropic.ToolInputSchemaParam](schema)}
	if spec.Description != "" {
		tool.Description = anthropic.String(spec.Description)
	}
	return tool, nil
}

// signed reports whether the server that has answered signs its reasoning.
func signed(messages []model.Message) bool {
	return slices.ContainsFunc(messages, func(m model.Message) bool {
		return slices.ContainsFunc(m.Reasoning, func(r model.Reasoning) bool { return r.Signature != "" || r.Redacted != "" })
	})
}

// content returns the blocks of a message, in the order that the API demands:
// tool results before text, reasoning before all else. Reasoning without a signature goes to servers
// that sign none.
func content(msg model.Message, unsigned bool) []anthropic.ContentBlockParamUnion {
	var blocks []anthropic.ContentBlockParamUnion
	for _, r := range msg.Reasoning {
		switch {
		case r.Redacted != "":
			blocks = append(blocks, anthropic.NewRedactedThinkingBlock(r.Redacted))
		case r.Signature != "" && (r.Text != "" || !strings.HasPrefix(r.Signature, `{"`)): // else it is not the API's, which would refuse it
			blocks = append(blocks, anthropic.NewThinkingBlock(r.Signature, r.Text))
		case r.Signature == "" && r.Text != "" && unsigned:
			blocks = append(blocks, anthropic.NewThinkingBlock("", r.Text))
		}
	}
	for _, result := range msg.ToolResults {
		block := &anthropic.ToolResultBlockParam{ToolUseID: callID(result.ToolCallID)}
		if !blank(result.Text) {
			block.Content = []anthropic.ToolResultBlockParamContentUnion{{OfText: &anthropic.TextBlockParam{Text: result.Text}}}
		}
		for _, i := range imageBlocks(result.Images) {
			block.Content = append(block.Content, anthropic.ToolResultBlockParamContentUnion{OfImage: i.OfImage})
		}
		if result.IsError {
			block.IsError = anthropic.Bool(true)
		}
		blocks = append(blocks, anthropic.ContentBlockParamUnion{OfToolResult: block})
	}
	blocks = append(blocks, imageBlocks(msg.Images)...)
	if !blank(msg.Text) { // the API refuses blank text
		blocks = append(blocks, anthropic.NewTextBlock(msg.Text))
	}
	for _, call := range msg.ToolCalls {
		blocks = append(blocks, anthropic.NewToolUseBlock(callID(call.ID), input(call.Arguments), model.ToolName(call.Name)))
	}
	return blocks
}

// imageBlocks returns the blocks of images with bytes. The API's documentation wants images
// before text: https://platform.claude.com/docs/en/build-with-claude/vision
func imageBlocks(images []model.Image) (blocks []anthropic.ContentBlockParamUnion) {
	for _, i := range images {
		if len(i.Data) > 0 {
			blocks = append(blocks, anthropic.NewImageBlockBase64(i.MediaType, base64.StdEncoding.EncodeToString(i.Data)))
		}
	}
	return blocks
}

// input returns the arguments of a tool call as the JSON object that the API demands.
// For invalid arguments its documentation names this wrapping:
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming
func input(arguments string) any {
	raw := bytes.TrimSpace([]byte(arguments))
	if bytes.HasPrefix(raw, []byte("{")) && json.Valid(raw) {
		return json.RawMessage(raw)
	}
	return map[string]string{"INVALID_JSON": arguments}
}

// callID returns an id of a tool call with the characters that the API allows.
// Ids of other providers may have more, such as "functions.read:0".
func callID(id string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		default:
			return '_'
		}
	}, id)
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

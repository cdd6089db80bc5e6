// Package hostmodel is the adapter for the model of an MCP host: what the
// Model Context Protocol calls sampling with tools
// (https://modelcontextprotocol.io/specification/2025-11-25/client/sampling).
//
// The host chooses the model, and its user may see, change and refuse what is
// asked and answered. An answer comes as a whole. It has no usage, and what a
// model was thinking is not in it.
//
// Effort and top_p have no place in such a request and are not sent. Nor can
// an image or a sound that a host answers with be handed on: it is an error.
package hostmodel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/endpoint"
)

// defaultMaxOutputTokens is for requests that know no limit: the protocol wants a number.
const defaultMaxOutputTokens = 8192

// maxMessage bounds what is shown of a host's error, in characters.
const maxMessage = 500

// Ask asks the host. path is the sessions from the root down to the asking one. It
// determines the host and the call.
type Ask func(ctx context.Context, path []string, params *mcp.CreateMessageWithToolsParams) (*mcp.CreateMessageWithToolsResult, error)

// Model is the model of a host.
type Model struct{ ask Ask }

var _ model.Model = (*Model)(nil)

// New returns the model of the host that ask asks.
func New(ask Ask) *Model { return &Model{ask} }

// Name implements [model.Model]: "host". Which model answers is the host's to
// say.
func (m *Model) Name() string { return "host" }

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		res, err := m.ask(ctx, req.Path, params(req))
		if err == nil && ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil {
			if ctx.Err() != nil {
				yield(nil, fmt.Errorf("host: %w", ctx.Err()))
				return
			}
			yield(nil, broken(kindOf(err), err))
			return
		}
		parts, err := answer(res)
		if err != nil {
			yield(nil, broken(model.ErrProtocol, err))
			return
		}
		for _, part := range parts {
			if !yield(part, nil) {
				return
			}
		}
	}
}

// kindOf returns what kind of error a host answers with. An internal one may pass; that
// somebody has declined the request, or that the host can't take it, does not.
func kindOf(err error) model.ErrorKind {
	if answered, ok := errors.AsType[*jsonrpc.Error](err); ok && answered.Code != jsonrpc.CodeInternalError {
		return model.ErrInvalid
	}
	return model.ErrUnavailable
}

func broken(kind model.ErrorKind, err error) error {
	var known *model.Error
	if errors.As(err, &known) {
		return err
	}
	text := termtext.Cut(strings.Join(strings.Fields(err.Error()), " "), maxMessage)
	return &model.Error{Model: "host", Kind: kind, Message: text, Err: err}
}

// params returns what the host is asked.
func params(req *model.Request) *mcp.CreateMessageWithToolsParams {
	p := &mcp.CreateMessageWithToolsParams{
		MaxTokens:    int64(cmp.Or(max(0, req.MaxOutputTokens), max(0, req.LongestAnswer), defaultMaxOutputTokens)),
		SystemPrompt: req.System,
	}
	if req.Temperature != nil {
		p.Temperature = *req.Temperature
	}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, &mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	if req.NoToolCalls && len(p.Tools) > 0 {
		p.ToolChoice = &mcp.ToolChoice{Mode: "none"}
	}
	for _, m := range req.Messages {
		p.Messages = append(p.Messages, messages(m)...)
	}
	return p
}

// messages returns a message in the protocol's form: results of tools are a message of
// their own.
func messages(m model.Message) []*mcp.SamplingMessageV2 {
	var results, rest []mcp.Content
	for _, r := range m.ToolResults {
		results = append(results, &mcp.ToolResultContent{
			ToolUseID: r.ToolCallID, Content: append([]mcp.Content{&mcp.TextContent{Text: r.Text}}, images(r.Images)...), IsError: r.IsError,
		})
	}
	rest = images(m.Images)
	if m.Text != "" {
		rest = append(rest, &mcp.TextContent{Text: m.Text})
	}
	for _, call := range m.ToolCalls {
		rest = append(rest, &mcp.ToolUseContent{ID: call.ID, Name: call.Name, Input: arguments(call.Arguments)})
	}
	var all []*mcp.SamplingMessageV2
	for _, content := range [][]mcp.Content{results, rest} {
		if len(content) > 0 {
			all = append(all, &mcp.SamplingMessageV2{Role: mcp.Role(m.Role), Content: content})
		}
	}
	return all
}

// images returns the images with bytes.
func images(all []model.Image) (contents []mcp.Content) {
	for _, i := range all {
		if len(i.Data) > 0 {
			contents = append(contents, &mcp.ImageContent{MIMEType: i.MediaType, Data: i.Data})
		}
	}
	return contents
}

// arguments returns the arguments of a call as an object. What a model wrote
// that is none was answered with an error; the host gets to see it as a text.
func arguments(text string) map[string]any {
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil {
		return map[string]any{"invalid": text}
	}
	return object
}

// answer returns the parts of a host's answer.
func answer(res *mcp.CreateMessageWithToolsResult) ([]model.Part, error) {
	var parts []model.Part
	calls := 0
	for _, content := range res.Content {
		switch c := content.(type) {
		case *mcp.TextContent:
			var thoughts endpoint.Thoughts
			parts = append(parts, thoughts.Add(strings.ToValidUTF8(c.Text, "\uFFFD"))...)
			parts = append(parts, thoughts.End()...)
		case *mcp.ToolUseContent:
			input := c.Input
			if input == nil {
				input = map[string]any{}
			}
			args, err := json.Marshal(input)
			if err != nil {
				return nil, fmt.Errorf("the arguments of %s: %w", c.Name, err)
			}
			calls++
			parts = append(parts, model.ToolCall{ID: c.ID, Name: c.Name, Arguments: string(args)})
		default:
			return nil, fmt.Errorf("the host's model has answered with %T, which is neither a text nor a tool call", content)
		}
	}
	if res.Role != "assistant" {
		return nil, fmt.Errorf("the host has answered with a message of the role %q, not of the assistant", res.Role)
	}
	return append(parts, model.Stop{Reason: reason(res.StopReason, calls)}), nil
}

func reason(said string, calls int) model.StopReason {
	switch {
	case said == "maxTokens":
		return model.StopMaxTokens
	case calls > 0:
		return model.StopToolCalls
	default:
		return model.StopEnd
	}
}

package modeltest

import (
	"encoding/json"
	"net/http"

	"github.com/agentworker/worker/model"
)

// responsesRequest is the body of a request to the Responses API: the fields that are
// read.
type responsesRequest struct {
	Model           string
	Instructions    string
	Input           []responsesItem
	Tools           []responsesTool
	ToolChoice      any `json:"tool_choice"`
	Stream          bool
	MaxOutputTokens int `json:"max_output_tokens"`
	Reasoning       struct{ Effort string }
}

// responsesTool is a function, a namespace of functions, or a tool of the
// provider's own, which is passed over.
type responsesTool struct {
	Type        string
	Name        string
	Description string
	Parameters  json.RawMessage
	Tools       []responsesTool
}

type responsesItem struct {
	Type      string
	Role      string
	Content   openaiText
	CallID    string `json:"call_id"`
	Namespace string
	Name      string
	Arguments string
	Output    openaiText
}

func (responsesWire) parse(_ http.Header, body []byte) (*parsed, *refusal) {
	var req responsesRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, refuse(400, "We could not parse the JSON body of your request: %v", err)
	}
	switch {
	case req.Model == "":
		return nil, refuse(400, "Missing required parameter: 'model'.")
	case !req.Stream:
		return nil, refuse(400, "this server only streams")
	}
	out := &parsed{model: req.Model, Request: &model.Request{
		System:      req.Instructions,
		NoToolCalls: req.ToolChoice == "none",
		Params:      model.Params{MaxOutputTokens: req.MaxOutputTokens, Effort: req.Reasoning.Effort},
	}}
	addTools(out.Request, "", req.Tools)
	for i, item := range req.Input {
		if refused := item.add(out.Request, i); refused != nil {
			return nil, refused
		}
	}
	if len(out.Messages) == 0 {
		return nil, refuse(400, "Invalid 'input': empty array.")
	}
	if refused := checkToolResults(out.Messages); refused != nil {
		return nil, refuse(400, "No tool output found for function call: %s", refused.message)
	}
	return out, nil
}

// addTools adds the functions of tools, those of a namespace as
// "namespace.name".
func addTools(req *model.Request, namespace string, tools []responsesTool) {
	for _, tool := range tools {
		switch tool.Type {
		case "function":
			req.Tools = append(req.Tools, model.ToolSpec{
				Name: qualified(namespace, tool.Name), Description: tool.Description, InputSchema: tool.Parameters,
			})
		case "namespace":
			addTools(req, tool.Name, tool.Tools)
		}
	}
}

func qualified(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "." + name
}

// add adds an item to the messages of a request: calls that follow each other
// are one message of ours, and so are their results.
func (item responsesItem) add(req *model.Request, i int) *refusal {
	last := func(role model.Role) *model.Message {
		if n := len(req.Messages); n == 0 || req.Messages[n-1].Role != role || role == model.User && (req.Messages[n-1].Text != "" || len(req.Messages[n-1].Images) > 0) {
			req.Messages = append(req.Messages, model.Message{Role: role})
		}
		return &req.Messages[len(req.Messages)-1]
	}
	switch {
	case item.Type == "function_call":
		msg := last(model.Assistant)
		msg.ToolCalls = append(msg.ToolCalls, model.ToolCall{
			ID: item.CallID, Name: qualified(item.Namespace, item.Name), Arguments: item.Arguments,
		})
	case item.Type == "function_call_output":
		msg := last(model.User)
		msg.ToolResults = append(msg.ToolResults, model.ToolResult{ToolCallID: item.CallID, Text: item.Output.text, Images: item.Output.images})
	case item.Type == "reasoning":
	case item.Type != "message" && item.Type != "":
		return refuse(400, "Invalid value: '%s' for input[%d].type", item.Type, i)
	case item.Role == "system" || item.Role == "developer":
		req.System += item.Content.text
	case item.Role == "user":
		msg := last(model.User)
		msg.Text, msg.Images = item.Content.text, item.Content.images
	case item.Role == "assistant":
		last(model.Assistant).Text += item.Content.text
	default:
		return refuse(400, "Invalid value: '%s' for input[%d].role", item.Role, i)
	}
	return nil
}

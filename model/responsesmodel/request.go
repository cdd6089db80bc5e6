package responsesmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/openaiwire"
)

// createResponse is a request as the API takes it:
// https://platform.openai.com/docs/api-reference/responses/create
type createResponse struct {
	Model           string     `json:"model"`
	Instructions    string     `json:"instructions,omitempty"`
	Tools           []tool     `json:"tools,omitempty"`
	Input           []any      `json:"input"`
	ToolChoice      string     `json:"tool_choice,omitempty"`
	MaxOutputTokens int        `json:"max_output_tokens,omitempty"`
	Temperature     *float64   `json:"temperature,omitempty"`
	TopP            *float64   `json:"top_p,omitempty"`
	Reasoning       *reasoning `json:"reasoning,omitempty"`
	Include         []string   `json:"include,omitempty"`
	PromptCacheKey  string     `json:"prompt_cache_key,omitempty"`
	Store           bool       `json:"store"` // never: the log of the session is the state
	Stream          bool       `json:"stream"`
}

type reasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

// tool is a function that the model may call. The API takes strict for true where it is not said,
// and then changes the schema. The schema is handed over unchanged.
type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

type message struct {
	Type    string `json:"type"`
	Role    string `json:"role"`
	Content any    `json:"content"` // a string, or a list of parts
	Phase   string `json:"phase,omitempty"`
}

type functionCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type functionCallOutput struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"` // a string, or a list of parts
}

// part is a part of a message, or of the output of a function.
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// parts returns a text as the API takes it: with images it is a list.
func parts(text string, images []model.Image) any {
	urls := openaiwire.DataURLs(images)
	if len(urls) == 0 {
		return text
	}
	var all []part
	if text != "" {
		all = append(all, part{Type: "input_text", Text: text})
	}
	for _, url := range urls {
		all = append(all, part{Type: "input_image", ImageURL: url, Detail: "auto"})
	}
	return all
}

// sent is a request, with what may have to be left out of it.
type sent struct {
	body      []byte
	has       features
	reasoning [][16]byte // hashes
}

// minOutput is the least limit of the output that OpenAI takes, in tokens.
const minOutput = 16

// request returns the API's form of a request.
func (m *Model) request(req *model.Request) (sent, error) {
	out := sent{has: m.wants()}
	params := createResponse{Model: m.server.Model, Instructions: req.System, Stream: true}
	if params.MaxOutputTokens = max(0, req.MaxOutputTokens); params.MaxOutputTokens > 0 {
		params.MaxOutputTokens = max(minOutput, params.MaxOutputTokens)
	}
	m.sampling(&params, req, &out.has)
	if out.has.encrypted {
		params.Include = []string{"reasoning.encrypted_content"}
	}
	if out.has.cacheKey {
		params.PromptCacheKey = openaiwire.CacheKey(req)
	}
	for _, spec := range req.Tools {
		schema := spec.InputSchema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		if !json.Valid(schema) {
			return out, fmt.Errorf("the input schema of tool %s is not valid JSON", spec.Name)
		}
		params.Tools = append(params.Tools, tool{"function", spec.Name, spec.Description, schema, false})
	}
	if req.NoToolCalls && len(params.Tools) > 0 {
		params.ToolChoice = "none"
	}
	for _, msg := range req.Messages {
		if msg.Role == model.Assistant {
			params.Input = append(params.Input, m.assistant(msg, &out)...)
		} else {
			params.Input = append(params.Input, user(msg)...)
		}
	}
	if len(params.Input) == 0 {
		return out, errors.New("the request has no message with any content")
	}
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false) // what goes back is as it came
	err := enc.Encode(params)
	out.body = bytes.TrimSpace(body.Bytes())
	return out, err
}

// sampling adds effort, temperature and top_p, except where OpenAI's models refuse them.
func (m *Model) sampling(params *createResponse, req *model.Request, has *features) {
	_, alwaysReasons := openaiwire.Generation(m.server.Model)
	effort := openaiwire.Effort(req.Effort)
	if has.effort = has.effort && effort != ""; !has.effort {
		effort = ""
	}
	has.summary = has.summary && effort != "none"
	if has.effort || has.summary {
		params.Reasoning = &reasoning{Effort: effort}
		if has.summary {
			params.Reasoning.Summary = "auto"
		}
	}
	if m.server.Known.OpenAI && (alwaysReasons || effort != "" && effort != "none") {
		return
	}
	params.Temperature, params.TopP = req.Temperature, req.TopP
}

// user returns the items of a message of ours: one for each tool result, then the text and the images.
func user(msg model.Message) []any {
	var items []any
	for _, result := range msg.ToolResults {
		items = append(items, functionCallOutput{"function_call_output", callID(result.ToolCallID), parts(openaiwire.Output(result), result.Images)})
	}
	if said := parts(msg.Text, msg.Images); said != "" {
		items = append(items, message{Type: "message", Role: "user", Content: said})
	}
	return items
}

// assistant returns the items of an answer in the order in which they came. Reasoning that no item
// follows is left out, since the API refuses it.
func (m *Model) assistant(msg model.Message, out *sent) []any {
	var items []any
	behind := 0 // reasoning, the last of items
	text, calls := msg.Text, msg.ToolCalls
	add := func(item any) { items, behind = append(items, item), 0 }
	say := func(n int, phase string) {
		if n > 0 && len(text) > 0 {
			add(message{Type: "message", Role: "assistant", Content: text[:n], Phase: phase})
			text = text[n:]
		}
	}
	call := func() {
		if len(calls) > 0 {
			add(functionCall{"function_call", callID(calls[0].ID), model.ToolName(calls[0].Name), openaiwire.Arguments(calls[0].Arguments)})
			calls = calls[1:]
		}
	}
	kept := m.sealedIn(msg)
	whole := kept.length() != len(msg.Text) // the text was changed since
	var hashes [][16]byte
	for _, item := range kept.Items {
		switch {
		case item.Reasoning != nil:
			raw, hash := m.back(item.Reasoning), hashOf(item.Reasoning)
			if raw != nil && out.has.encrypted && !m.isStale(hash) {
				items, hashes, behind = append(items, raw), append(hashes, hash), behind+1
			}
		case item.Call:
			if whole { // before the calls
				say(len(text), "")
			}
			call()
		case whole:
			say(len(text), item.Phase)
		default:
			say(item.Text, item.Phase)
		}
	}
	say(len(text), "")
	for len(calls) > 0 {
		call()
	}
	out.reasoning = append(out.reasoning, hashes[:len(hashes)-behind]...)
	return items[:len(items)-behind]
}

// maxCallID is the longest id of a tool call that OpenAI takes.
const maxCallID = 64

// callID returns an id of a tool call that the API takes.
func callID(id string) string {
	if id != "" && len(id) <= maxCallID {
		return id
	}
	hash := hashOf([]byte(id))
	return fmt.Sprintf("call_%x", hash)
}

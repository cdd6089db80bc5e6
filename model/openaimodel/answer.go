package openaimodel

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/endpoint"
)

// chunk is an event of a streamed answer: the fields that are read. What is not needed for the
// answer takes any form.
type chunk struct {
	Object  string
	Choices []struct {
		Index        number
		Delta        delta
		Message      delta // of an answer that comes whole
		FinishReason text  `json:"finish_reason"`
	}
	Usage *usage
	Error json.RawMessage
}

type usage struct {
	PromptTokens     number `json:"prompt_tokens"`
	CompletionTokens number `json:"completion_tokens"`
	Details          struct {
		CachedTokens     number `json:"cached_tokens"`
		CacheWriteTokens number `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CacheHitTokens number `json:"prompt_cache_hit_tokens"` // DeepSeek's name for it
}

// UnmarshalJSON implements [json.Unmarshaler]: counts of another form are not known.
func (u *usage) UnmarshalJSON(data []byte) error {
	type plain usage
	_ = json.Unmarshal(data, (*plain)(u)) // what could be read will do
	return nil
}

type delta struct {
	Content          content
	Refusal          text
	ReasoningContent content `json:"reasoning_content"`
	Reasoning        content
	ToolCalls        callDeltas `json:"tool_calls"`
}

// answer puts the chunks of a streamed answer together.
type answer struct {
	finish    string // the finish reason; empty until it has come
	done      bool   // nothing more is to come that counts
	refused   bool
	said      bool // it has text
	reasoning bytes.Buffer
	calls     calls
	usage     *model.Usage
}

// add takes the data of an event and returns the parts in it. What begins like no JSON object keeps
// the connection alive.
func (a *answer) add(data []byte) ([]model.Part, error) {
	data = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(data), []byte(endpoint.BOM)))
	if bytes.Equal(data, []byte("[DONE]")) {
		a.done = true
		return nil, nil
	}
	if list := bytes.TrimPrefix(data, []byte("[")); bytes.HasPrefix(bytes.TrimSpace(list), []byte("{")) { // Gemini's list of one error
		data = bytes.TrimSpace(bytes.TrimSuffix(list, []byte("]")))
	}
	if !bytes.HasPrefix(data, []byte("{")) {
		return nil, nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if says(c.Error) {
		return nil, sentError(c.Error)
	}
	if c.Object == "error" { // vLLM, instead of a chunk
		return nil, sentError(data)
	}
	var parts []model.Part
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // only one was asked for
		}
		parts = append(parts, a.addDelta(choice.Delta)...)
		if len(parts) == 0 && !a.said && a.reasoning.Len() == 0 && len(a.calls.all) == 0 { // else it repeats the deltas
			parts = a.addDelta(choice.Message)
		}
		if choice.FinishReason != "" {
			a.finish = string(choice.FinishReason)
		}
	}
	if c.Usage != nil {
		cached := max(c.Usage.Details.CachedTokens, c.Usage.CacheHitTokens)
		a.usage = &model.Usage{
			InputTokens: int64(c.Usage.PromptTokens), OutputTokens: int64(c.Usage.CompletionTokens),
			CacheReadTokens: int64(cached), CacheWriteTokens: int64(c.Usage.Details.CacheWriteTokens),
		}
		a.done = a.finish != "" // earlier counts, which some servers send, are not the last
	}
	return parts, nil
}

func (a *answer) addDelta(d delta) []model.Part {
	var parts []model.Part
	thought := d.ReasoningContent.text + d.ReasoningContent.thought
	if thought == "" {
		thought = d.Reasoning.text + d.Reasoning.thought // some servers send both
	}
	if thought += d.Content.thought; thought != "" {
		a.reasoning.WriteString(thought)
		parts = append(parts, model.ReasoningDelta{Text: thought})
	}
	if d.Content.text != "" {
		a.said = true
		parts = append(parts, model.TextDelta{Text: d.Content.text})
	}
	if d.Refusal != "" {
		a.refused = true
		parts = append(parts, model.TextDelta{Text: string(d.Refusal)})
	}
	for _, call := range d.ToolCalls {
		a.calls.add(call)
	}
	return parts
}

// whole reports whether the answer seems complete. It has a finish reason; or the server sends
// none, and the answer ended in order: with [DONE], or after whole calls.
func (a *answer) whole(broken error) bool {
	return a.finish != "" || a.done && (a.said || len(a.calls.all) > 0) || broken == nil && a.calls.whole()
}

// end returns the last parts of an answer that is whole.
func (a *answer) end() ([]model.Part, error) {
	switch a.finish {
	case "error", "insufficient_system_resource": // OpenRouter, DeepSeek
		return nil, &wireError{Kind: model.ErrUnavailable, Text: "the server gave up (" + a.finish + ")"}
	}
	var parts []model.Part
	if a.reasoning.Len() > 0 {
		parts = append(parts, model.Reasoning{Text: a.reasoning.String()})
	}
	calls := a.calls.finish()
	for _, call := range calls {
		parts = append(parts, call)
	}
	if a.usage != nil {
		parts = append(parts, *a.usage)
	}
	return append(parts, model.Stop{Reason: a.reason(len(calls) > 0)}), nil
}

func (a *answer) reason(called bool) model.StopReason {
	switch {
	case a.finish == "length":
		return model.StopMaxTokens
	case a.finish == "content_filter", a.refused:
		return model.StopRefusal
	case called: // some servers say stop
		return model.StopToolCalls
	default:
		return model.StopEnd
	}
}

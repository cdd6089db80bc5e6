package openaimodel

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/endpoint"
	"github.com/agentworker/worker/model/internal/openaiwire"
)

// chunk is an event of a streamed answer: the fields that are read. What is not needed for the
// answer takes any form.
type chunk struct {
	Object  string
	Choices []struct {
		Index        openaiwire.Number
		Delta        delta
		Message      delta           // of an answer that comes whole
		FinishReason openaiwire.Text `json:"finish_reason"`
		Finished     openaiwire.Text `json:"finishReason"`         // Gemini, once
		Native       openaiwire.Text `json:"native_finish_reason"` // of the provider behind OpenRouter
		Usage        *usage          // Moonshot has it here
	}
	Usage *usage
	Groq  struct{ Usage *usage } `json:"x_groq"`
	Error json.RawMessage
}

type usage struct {
	PromptTokens     openaiwire.Number `json:"prompt_tokens"`
	CompletionTokens openaiwire.Number `json:"completion_tokens"`
	Details          struct {
		CachedTokens     openaiwire.Number `json:"cached_tokens"`
		CacheWriteTokens openaiwire.Number `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CacheHitTokens openaiwire.Number `json:"prompt_cache_hit_tokens"` // DeepSeek's name for it
	CachedTokens   openaiwire.Number `json:"cached_tokens"`           // Moonshot's
}

// UnmarshalJSON implements [json.Unmarshaler]: counts of another form are not known.
func (u *usage) UnmarshalJSON(data []byte) error {
	type plain usage
	_ = json.Unmarshal(data, (*plain)(u)) // what could be read will do
	return nil
}

// delta is a piece of the answer. Servers have many names for what a model thinks.
type delta struct {
	Content   content
	Refusal   openaiwire.Text
	ToolCalls callDeltas `json:"tool_calls"`
	// FunctionCall is the API's tool call of old.
	FunctionCall *functionDelta `json:"function_call"`

	ReasoningContent content `json:"reasoning_content"`
	Reasoning        content
	ReasoningText    content `json:"reasoning_text"`
	Thinking         content
	ThinkingContent  content `json:"thinking_content"`
	Thought          content

	Details raws   `json:"reasoning_details"` // OpenRouter
	Opaque  string `json:"reasoning_opaque"`  // Copilot
}

// thinking are the fields of what a model thinks. Some servers say it under several names.
func (d *delta) thinking() []*content {
	return []*content{&d.ReasoningContent, &d.Reasoning, &d.ReasoningText, &d.Thinking, &d.ThinkingContent, &d.Thought}
}

// thoughts returns what a model thinks in a delta.
func (d *delta) thoughts() string {
	for _, c := range d.thinking() {
		if said := c.text + c.thought; said != "" {
			return said
		}
	}
	var said string
	for _, raw := range d.Details {
		var detail struct{ Text, Summary openaiwire.Text }
		if json.Unmarshal(raw, &detail) == nil {
			said += string(detail.Text + detail.Summary)
		}
	}
	return said
}

// answer puts the chunks of a streamed answer together.
type answer struct {
	choice    *openaiwire.Number // the index of the one that counts
	finish    string             // the finish reason; empty until it has come
	done      bool               // nothing more is to come that counts
	refused   bool
	said      bool   // it has text
	gaveUp    string // the server, and why
	text      endpoint.Thoughts
	reasoning bytes.Buffer
	calls     calls
	sealed    sealed
	usage     *model.Usage

	repeated endpoint.Repeated
	thinks   bool // what is repeated is a thought
}

// add takes the data of an event and returns the parts in it. What begins like no JSON object keeps
// the connection alive.
func (a *answer) add(event string, data []byte) ([]model.Part, error) {
	data = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(data), []byte(endpoint.BOM)))
	if bytes.Equal(data, []byte("[DONE]")) {
		a.done = true
		return nil, nil
	}
	if list := bytes.TrimPrefix(data, []byte("[")); bytes.HasPrefix(bytes.TrimSpace(list), []byte("{")) { // Gemini's list of one error
		data = bytes.TrimSpace(bytes.TrimSuffix(list, []byte("]")))
	}
	if text, ok := a.repeated.Text(data); ok {
		return a.addDelta(deltaOf(text, a.thinks)), nil
	}
	if !bytes.HasPrefix(data, []byte("{")) {
		return nil, nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		lines := endpoint.Lines(data)
		if len(lines) == 0 {
			return nil, fmt.Errorf("reading the answer: %w", err)
		}
		var parts []model.Part
		for _, line := range lines {
			more, err := a.add(event, line)
			if err != nil {
				return nil, err
			}
			parts = append(parts, more...)
		}
		return parts, nil
	}
	if openaiwire.Says(c.Error) {
		return nil, openaiwire.SentError(c.Error)
	}
	if c.Object == "error" || event == "error" && c.Choices == nil { // vLLM, llama.cpp: instead of a chunk
		return nil, openaiwire.SentError(data)
	}
	a.learn(data, &c)
	var parts []model.Part
	counts := cmp.Or(c.Usage, c.Groq.Usage)
	for _, choice := range c.Choices {
		if a.choice == nil {
			a.choice = &choice.Index
		}
		if choice.Index != *a.choice {
			continue // only one was asked for
		}
		parts = append(parts, a.addDelta(&choice.Delta)...)
		if len(parts) == 0 && !a.said && a.reasoning.Len() == 0 && len(a.calls.all) == 0 { // else it repeats the deltas
			parts = a.addDelta(&choice.Message)
		}
		if reason := string(cmp.Or(choice.FinishReason, choice.Finished)); reason != "" && reason != "null" {
			a.finish = reason
		}
		if failures[string(choice.Native)] {
			a.gaveUp = string(choice.Native)
		}
		counts = cmp.Or(counts, choice.Usage)
	}
	if counts != nil {
		cached := max(counts.Details.CachedTokens, counts.CacheHitTokens, counts.CachedTokens)
		a.usage = &model.Usage{
			InputTokens: int64(counts.PromptTokens), OutputTokens: int64(counts.CompletionTokens),
			CacheReadTokens: int64(cached), CacheWriteTokens: int64(counts.Details.CacheWriteTokens),
		}
		a.done = a.finish != "" && len(parts) == 0 // earlier counts, which some servers send, are not the last
	}
	return parts, nil
}

// only returns the text that a chunk says if it says nothing else, and whether it is a thought.
func (c *chunk) only() (text string, thought bool) {
	if len(c.Choices) != 1 {
		return "", false
	}
	choice := c.Choices[0]
	for i, said := range append([]*content{&choice.Delta.Content}, choice.Delta.thinking()...) {
		if said.text != "" {
			text, thought, *said = said.text, i > 0, content{}
			break
		}
	}
	if len(choice.Delta.ToolCalls)+len(choice.Delta.Details) == 0 { // empty lists say nothing
		choice.Delta.ToolCalls, choice.Delta.Details = nil, nil
	}
	rest := chunk{Usage: c.Usage, Groq: c.Groq}
	if !reflect.ValueOf(choice).IsZero() || !reflect.ValueOf(rest).IsZero() {
		return "", false
	}
	return text, thought
}

// learn keeps a chunk that says a text, and nothing else.
func (a *answer) learn(data []byte, c *chunk) {
	text, thought := c.only()
	if text != "" && (a.choice == nil || *a.choice == 0) && a.repeated.Learn(data, text, func(data []byte) (string, bool) {
		var like chunk
		err := json.Unmarshal(data, &like)
		text, is := like.only()
		return text, err == nil && is == thought
	}) {
		a.thinks = thought
	}
}

// deltaOf returns a delta with nothing but a text.
func deltaOf(text string, thought bool) *delta {
	if thought {
		return &delta{ReasoningContent: content{text: text}}
	}
	return &delta{Content: content{text: text}}
}

func (a *answer) addDelta(d *delta) []model.Part {
	var parts []model.Part
	if thought := d.thoughts() + d.Content.thought; thought != "" {
		a.reasoning.WriteString(thought)
		parts = append(parts, model.ReasoningDelta{Text: thought})
	}
	a.sealed.add(d)
	if d.Content.text != "" {
		a.said = true
		parts = append(parts, a.thinkingOf(a.text.Add(d.Content.text))...)
	}
	if d.Refusal != "" {
		a.refused = true
		parts = append(parts, model.TextDelta{Text: string(d.Refusal)})
	}
	if d.FunctionCall != nil {
		d.ToolCalls = append(d.ToolCalls, callDelta{Function: *d.FunctionCall})
	}
	for _, call := range d.ToolCalls {
		a.calls.add(call)
		parts = append(parts, model.ToolCallDelta{})
	}
	return parts
}

// thinkingOf keeps what the parts of a text say that the model thinks.
func (a *answer) thinkingOf(parts []model.Part) []model.Part {
	for _, part := range parts {
		switch part := part.(type) {
		case model.TextWasReasoning:
			a.reasoning.WriteString(a.text.Given())
		case model.ReasoningDelta:
			a.reasoning.WriteString(part.Text)
		}
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
	reason := strings.ToLower(a.finish)
	if failures[reason] || strings.Contains(reason, "malformed_function_call") {
		a.gaveUp = a.finish
	}
	if a.gaveUp != "" {
		return nil, &openaiwire.Error{Kind: model.ErrUnavailable, Text: "the server gave up (" + a.gaveUp + ")"}
	}
	parts := a.thinkingOf(a.text.End())
	if a.reasoning.Len() > 0 {
		parts = append(parts, model.Reasoning{Text: a.reasoning.String()})
	}
	calls, extras := a.calls.finish()
	if seal := a.sealed.with(extras); seal != "" {
		parts = append(parts, model.Reasoning{Signature: seal})
	}
	for _, call := range calls {
		parts = append(parts, call)
	}
	if a.usage != nil {
		parts = append(parts, *a.usage)
	}
	return append(parts, model.Stop{Reason: a.reason(reason, len(calls) > 0)}), nil
}

// failures are finish reasons that say that the server has failed.
var failures = map[string]bool{
	"error": true, "network_error": true, "insufficient_system_resource": true, // OpenRouter, Z.ai, DeepSeek
}

// stops are finish reasons other than the end of the answer.
var stops = map[string]model.StopReason{
	"length": model.StopMaxTokens, "max_tokens": model.StopMaxTokens, "max_output_tokens": model.StopMaxTokens,
	"model_length": model.StopMaxTokens, "model_context_window_exceeded": model.StopMaxTokens, // Mistral, Z.ai

	"content_filter": model.StopRefusal, "sensitive": model.StopRefusal, "refusal": model.StopRefusal,
	"safety": model.StopRefusal, "recitation": model.StopRefusal, "prohibited_content": model.StopRefusal,
}

func (a *answer) reason(finish string, called bool) model.StopReason {
	switch stop := stops[finish]; {
	case stop != "":
		return stop
	case a.refused:
		return model.StopRefusal
	case called: // some servers say stop
		return model.StopToolCalls
	default:
		return model.StopEnd
	}
}

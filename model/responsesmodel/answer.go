package responsesmodel

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/endpoint"
	"github.com/agentworker/worker/model/internal/openaiwire"
)

// event is an event of a streamed answer: the fields that are read.
type event struct {
	Type        string
	Object      string             // of an answer that comes whole
	Index       *openaiwire.Number `json:"output_index"`
	Part        openaiwire.Number  `json:"summary_index"`
	ItemID      openaiwire.Text    `json:"item_id"`
	Item        *item
	Delta, Text openaiwire.Text
	Refusal     openaiwire.Text
	Arguments   openaiwire.Text
	Response    *response
	Error       json.RawMessage
}

// response is the state of the whole answer.
type response struct {
	Status     openaiwire.Text
	Output     []*item
	Error      json.RawMessage
	Incomplete *struct{ Reason openaiwire.Text } `json:"incomplete_details"`
	Usage      *usage
}

type usage struct {
	InputTokens  openaiwire.Number `json:"input_tokens"`
	OutputTokens openaiwire.Number `json:"output_tokens"`
	Details      struct {
		CachedTokens     openaiwire.Number `json:"cached_tokens"`
		CacheWriteTokens openaiwire.Number `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
}

// UnmarshalJSON implements [json.Unmarshaler]: counts of another form are not known.
func (u *usage) UnmarshalJSON(data []byte) error {
	type plain usage
	_ = json.Unmarshal(data, (*plain)(u)) // what could be read will do
	return nil
}

// answer puts the events of a streamed answer together.
type answer struct {
	host   string // of the server
	items  items
	text   endpoint.Thoughts
	said   strings.Builder // all text so far
	refuse bool

	thought strings.Builder
	ended   response
	done    bool // the event has come that ends it
}

// add takes the data of an event and returns the parts in it. What begins like no JSON object keeps
// the connection alive.
func (a *answer) add(name string, data []byte) ([]model.Part, error) {
	data = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(data), []byte(endpoint.BOM)))
	if !bytes.HasPrefix(data, []byte("{")) {
		return nil, nil
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		lines := endpoint.Lines(data)
		if len(lines) == 0 {
			return nil, fmt.Errorf("reading the answer: %w", err)
		}
		var parts []model.Part
		for _, line := range lines {
			more, err := a.add(name, line)
			if err != nil {
				return nil, err
			}
			parts = append(parts, more...)
		}
		return parts, nil
	}
	kind := cmp.Or(e.Type, name)
	if e.Object == "response" {
		e.Response = new(response)
		if err := json.Unmarshal(data, e.Response); err != nil {
			return nil, fmt.Errorf("reading the answer: %w", err)
		}
		kind = "response." + cmp.Or(string(e.Response.Status), "completed")
	}
	switch kind {
	case "error":
		if openaiwire.Says(e.Error) {
			data = e.Error
		}
		return nil, openaiwire.SentError(data)
	case "response.completed", "response.done", "response.incomplete", "response.failed", "response.cancelled":
		return a.finish(kind, e.Response)
	}
	if e.Type == "" && openaiwire.Says(e.Error) {
		return nil, openaiwire.SentError(e.Error)
	}
	return a.event(kind, &e), nil
}

// event takes an event in the midst of an answer.
func (a *answer) event(kind string, e *event) []model.Part {
	switch kind {
	case "response.output_item.added":
		if e.Item != nil {
			a.items.find(e, e.Item.Type).take(e.Item)
		}
	case "response.output_item.done":
		if e.Item != nil {
			return a.whole(a.items.find(e, e.Item.Type), e.Item)
		}
	case "response.output_text.delta":
		return a.say(a.items.find(e, "message"), string(e.Delta), false)
	case "response.output_text.done":
		return a.rest(a.items.find(e, "message"), string(e.Text), false)
	case "response.refusal.delta":
		return a.say(a.items.find(e, "message"), string(e.Delta), true)
	case "response.refusal.done":
		return a.rest(a.items.find(e, "message"), string(e.Refusal), true)
	case "response.function_call_arguments.delta":
		a.items.find(e, "function_call").arguments += string(e.Delta)
		return []model.Part{model.ToolCallDelta{}}
	case "response.function_call_arguments.done":
		it := a.items.find(e, "function_call")
		it.arguments = cmp.Or(string(e.Arguments), it.arguments)
		return []model.Part{model.ToolCallDelta{}}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta", "response.reasoning_summary.delta", "response.reasoning.delta":
		return a.think(a.items.find(e, "reasoning"), int(e.Part), string(e.Delta))
	}
	return nil
}

// say gives a piece of an item's text.
func (a *answer) say(it *item, piece string, refusal bool) []model.Part {
	if piece == "" {
		return nil
	}
	it.heard += piece
	if refusal {
		a.refuse = true
		return a.given(it, []model.Part{model.TextDelta{Text: piece}})
	}
	return a.given(it, a.text.Add(piece))
}

// rest returns the part of a whole text that no piece has brought yet.
func (a *answer) rest(it *item, whole string, refusal bool) []model.Part {
	if it.heard != "" { // a message has one text, or parts that each have come
		return nil
	}
	return a.say(it, whole, refusal)
}

// think gives a piece of what the model thinks. A part of a summary is a paragraph.
func (a *answer) think(it *item, part int, piece string) []model.Part {
	if piece == "" {
		return nil
	}
	if a.thought.Len() > 0 && (part != it.part || !it.thinks) {
		piece = "\n\n" + piece
	}
	it.part, it.thinks = part, true
	a.thought.WriteString(piece)
	return []model.Part{model.ReasoningDelta{Text: piece}}
}

// given keeps what parts say.
func (a *answer) given(it *item, parts []model.Part) []model.Part {
	for _, part := range parts {
		switch part := part.(type) {
		case model.TextDelta:
			it.text += len(part.Text)
			a.said.WriteString(part.Text)
		case model.TextWasReasoning:
			a.thought.WriteString(a.said.String())
			a.said.Reset()
			a.items.untold()
		case model.ReasoningDelta:
			a.thought.WriteString(part.Text)
		}
	}
	return parts
}

// whole takes an item that is complete.
func (a *answer) whole(it, got *item) []model.Part {
	it.take(got)
	if it.Type == "reasoning" && !it.thinks {
		var parts []model.Part
		for i, piece := range append(got.Summary, got.Content...) {
			parts = append(parts, a.think(it, i, string(piece.Text))...)
		}
		return parts
	}
	var parts []model.Part
	if it.Type == "message" && it.heard == "" {
		for _, piece := range got.Content {
			parts = append(parts, a.say(it, string(piece.Text), false)...)
			parts = append(parts, a.say(it, string(piece.Refusal), true)...)
		}
	}
	return parts
}

// finish takes the event that ends an answer, and what has not come before it.
func (a *answer) finish(kind string, r *response) ([]model.Part, error) {
	if r == nil {
		r = new(response)
	}
	if kind == "response.failed" || kind == "response.cancelled" || r.Status == "failed" {
		if !openaiwire.Says(r.Error) {
			return nil, &openaiwire.Error{Kind: model.ErrUnavailable, Text: "the server gave up (" + strings.TrimPrefix(kind, "response.") + ")"}
		}
		return nil, openaiwire.SentError(r.Error)
	}
	if kind == "response.incomplete" && r.Incomplete == nil {
		r.Incomplete = new(struct{ Reason openaiwire.Text })
	}
	var parts []model.Part
	for i, got := range r.Output {
		if got == nil || got.Type == "" {
			continue
		}
		if it := a.items.missing(i, got); it != nil {
			parts = append(parts, a.whole(it, got)...)
		}
	}
	a.ended, a.done = *r, true
	return parts, nil
}

// end returns the last parts of an answer that is whole.
func (a *answer) end() []model.Part {
	last := new(item)
	if n := len(a.items.all); n > 0 {
		last = a.items.all[n-1]
	}
	for _, it := range a.items.all {
		if it.Type == "message" {
			last = it
		}
	}
	parts := a.given(last, a.text.End())
	if a.thought.Len() > 0 {
		parts = append(parts, model.Reasoning{Text: a.thought.String()})
	}
	calls, order := a.items.finish()
	if signature := (&sealed{a.host, order}).signature(); signature != "" {
		parts = append(parts, model.Reasoning{Signature: signature})
	}
	for _, call := range calls {
		parts = append(parts, call)
	}
	if u := a.ended.Usage; u != nil {
		parts = append(parts, model.Usage{
			InputTokens: int64(u.InputTokens), OutputTokens: int64(u.OutputTokens),
			CacheReadTokens: int64(u.Details.CachedTokens), CacheWriteTokens: int64(u.Details.CacheWriteTokens),
		})
	}
	return append(parts, model.Stop{Reason: a.reason(len(calls) > 0)})
}

func (a *answer) reason(called bool) model.StopReason {
	switch {
	case a.ended.Incomplete != nil && a.ended.Incomplete.Reason == "content_filter":
		return model.StopRefusal
	case a.ended.Incomplete != nil:
		return model.StopMaxTokens
	case a.refuse:
		return model.StopRefusal
	case called:
		return model.StopToolCalls
	default:
		return model.StopEnd
	}
}

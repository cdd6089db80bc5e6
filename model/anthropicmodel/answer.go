package anthropicmodel

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/endpoint"
)

// answer puts the events of a streamed answer together.
type answer struct {
	blocks   map[int64]*block // the ones that have begun and not ended
	ids      map[string]bool  // of the tool calls so far
	usage    model.Usage
	stop     anthropic.StopReason
	complete bool // message_stop has been seen

	repeated endpoint.Repeated
	last     anthropic.MessageStreamEventUnion // that was learned
}

// block is a content block that is arriving.
type block struct {
	kind      string
	id, name  string // tool_use
	input     string // tool_use: what the block began with
	arguments strings.Builder
	thinking  strings.Builder
	signature string
	data      string // redacted_thinking
	thoughts  endpoint.Thoughts
}

// add takes an event and returns the parts that it completes. Unknown events,
// blocks and deltas are passed over, as the API's versioning policy asks for.
func (a *answer) add(event anthropic.MessageStreamEventUnion) []model.Part {
	switch event.Type {
	case "message_start":
		usage := event.Message.Usage
		a.count(usage.InputTokens, usage.CacheReadInputTokens, usage.CacheCreationInputTokens, usage.OutputTokens)
	case "content_block_start":
		return a.begin(event.Index, event.ContentBlock)
	case "content_block_delta":
		known := a.blocks[event.Index]
		if known == nil { // some gateways leave the beginning out
			known = a.open(event.Index, &block{kind: kinds[event.Delta.Type]})
		}
		return known.add(event.Delta)
	case "content_block_stop":
		return a.end(event.Index)
	case "message_delta":
		a.stop = cmp.Or(event.Delta.StopReason, a.stop)
		usage := event.Usage
		a.count(usage.InputTokens, usage.CacheReadInputTokens, usage.CacheCreationInputTokens, usage.OutputTokens)
	case "message_stop":
		a.complete = true
		return a.finish()
	}
	return nil
}

// learn keeps an event that says a text, and nothing else.
func (a *answer) learn(data []byte, event anthropic.MessageStreamEventUnion) {
	text := textOf(event)
	if text != "" && a.repeated.Learn(data, text, func(data []byte) (string, bool) {
		var like anthropic.MessageStreamEventUnion
		err := json.Unmarshal(data, &like)
		return textOf(like), err == nil && like.Type == event.Type && like.Index == event.Index && like.Delta.Type == event.Delta.Type
	}) {
		a.last = event
	}
}

// textOf returns the text of an event that says a piece of one.
func textOf(event anthropic.MessageStreamEventUnion) string {
	switch {
	case event.Type == "content_block_delta" && event.Delta.Type == "text_delta":
		return event.Delta.Text
	case event.Type == "content_block_delta" && event.Delta.Type == "thinking_delta":
		return event.Delta.Thinking
	}
	return ""
}

// finish returns the last parts of an answer.
func (a *answer) finish() []model.Part {
	var parts []model.Part
	for _, index := range slices.Sorted(maps.Keys(a.blocks)) {
		parts = append(parts, a.end(index)...)
	}
	return append(parts, a.usage, model.Stop{Reason: a.reason()})
}

// count takes cumulative counts, of which a later event may leave some out. The
// API counts cached input apart from the rest.
func (a *answer) count(input, read, written, output int64) {
	if all := input + read + written; all > 0 {
		a.usage.InputTokens, a.usage.CacheReadTokens, a.usage.CacheWriteTokens = all, read, written
	}
	a.usage.OutputTokens = max(a.usage.OutputTokens, output)
}

func (a *answer) begin(index int64, start anthropic.ContentBlockStartEventContentBlockUnion) []model.Part {
	if known := a.blocks[index]; known != nil && known.kind == start.Type && known.kind != "tool_use" {
		known.signature += start.Signature
		return known.add(anthropic.MessageStreamEventUnionDelta{Type: known.kind + "_delta", Text: start.Text, Thinking: start.Thinking}) // it begins again
	}
	b := &block{
		kind: start.Type, id: start.ID, name: start.Name, input: start.JSON.Input.Raw(),
		signature: start.Signature, data: start.Data,
	}
	a.open(index, b)
	switch b.kind {
	case "text":
		return b.say(start.Text)
	case "thinking":
		return b.think(start.Thinking)
	}
	return nil
}

// kinds are the kinds of blocks by their deltas, where a block can do without its beginning.
var kinds = map[string]string{
	"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking",
}

// open keeps a block that has begun.
func (a *answer) open(index int64, b *block) *block {
	if a.blocks == nil {
		a.blocks = make(map[int64]*block)
	}
	a.blocks[index] = b
	return b
}

func (b *block) add(delta anthropic.MessageStreamEventUnionDelta) []model.Part {
	switch delta.Type {
	case "text_delta":
		return b.say(delta.Text)
	case "thinking_delta":
		return b.think(delta.Thinking)
	case "signature_delta":
		b.signature += delta.Signature
	case "input_json_delta":
		b.arguments.WriteString(delta.PartialJSON)
		return []model.Part{model.ToolCallDelta{}}
	}
	return nil
}

// say takes a piece of text. Models of others may think in it.
func (b *block) say(piece string) []model.Part { return b.said(b.thoughts.Add(valid(piece))) }

// said keeps what the parts of a text say that the model thinks.
func (b *block) said(parts []model.Part) []model.Part {
	for _, part := range parts {
		switch part := part.(type) {
		case model.TextWasReasoning:
			b.thinking.WriteString(b.thoughts.Given())
		case model.ReasoningDelta:
			b.thinking.WriteString(part.Text)
		}
	}
	return parts
}

// think takes a piece of thinking.
func (b *block) think(piece string) []model.Part {
	if piece == "" {
		return nil
	}
	piece = valid(piece)
	b.thinking.WriteString(piece)
	return []model.Part{model.ReasoningDelta{Text: piece}}
}

// valid returns text with what is no UTF-8 replaced. The SDK does not look.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func (a *answer) end(index int64) []model.Part {
	b := a.blocks[index]
	if b == nil {
		return nil
	}
	delete(a.blocks, index)
	switch b.kind {
	case "redacted_thinking":
		return []model.Part{model.Reasoning{Redacted: b.data}}
	case "tool_use":
		return []model.Part{a.call(b)}
	}
	parts := b.said(b.thoughts.End())
	if b.thinking.Len() > 0 || b.signature != "" {
		parts = append(parts, model.Reasoning{Text: b.thinking.String(), Signature: b.signature})
	}
	return parts
}

// call returns the tool call that a block is. It makes up an id that is missing
// or not unique.
func (a *answer) call(b *block) model.ToolCall {
	if b.id == "" || a.ids[b.id] {
		b.id = "toolu_" + rand.Text()
	}
	if a.ids == nil {
		a.ids = make(map[string]bool)
	}
	a.ids[b.id] = true
	arguments := b.arguments.String()
	if blank(arguments) {
		arguments = b.input // some servers send it whole
	}
	if blank(arguments) || arguments == "null" {
		arguments = "{}"
	}
	return model.ToolCall{ID: b.id, Name: b.name, Arguments: valid(arguments)}
}

func (a *answer) reason() model.StopReason {
	switch {
	case a.stop == anthropic.StopReasonMaxTokens, a.stop == anthropic.StopReasonModelContextWindowExceeded:
		return model.StopMaxTokens
	case a.stop == anthropic.StopReasonRefusal:
		return model.StopRefusal
	case len(a.ids) > 0:
		return model.StopToolCalls
	default:
		return model.StopEnd
	}
}

package modeltest

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/agentworker/worker/model"
)

// Answer is a streamed answer put together.
type Answer struct {
	Text      string
	Reasoning string // the deltas
	ToolCalls []model.ToolCall
	Usage     model.Usage
	Stop      model.StopReason // empty means the answer is not complete
	Retries   []model.Retry

	blocks []model.Reasoning
}

// Message returns the answer as a message of a conversation.
func (a Answer) Message() model.Message {
	return model.Message{Role: model.Assistant, Reasoning: a.blocks, Text: a.Text, ToolCalls: a.ToolCalls}
}

// Collect ranges over an answer and puts it together. It returns the parts so far with
// the answer's error, or with one that names the rule of package model which the answer
// breaks.
func Collect(stream iter.Seq2[model.Part, error]) (Answer, error) {
	var got Answer
	var failed, broken error
	rule := func(format string, args ...any) {
		if broken == nil {
			broken = fmt.Errorf("modeltest: "+format, args...)
		}
	}
	var text, reasoning strings.Builder
	ids := make(map[string]bool)
	for part, err := range stream {
		switch {
		case failed != nil:
			rule("%v, %v came after the error %w", part, err, failed)
		case got.Stop != "":
			rule("%v, %v came after the stop", part, err)
		case err != nil && part != nil:
			rule("the error %w came with the part %v", err, part)
		case err != nil:
			failed = err
		}
		switch part := part.(type) {
		case nil:
			if err == nil {
				rule("neither a part nor an error came")
			}
		case model.Retry:
			if text.Len() > 0 || reasoning.Len() > 0 || len(got.ToolCalls) > 0 {
				rule("%+v came once the answer had begun", part)
			}
			if part.Reason == "" || part.Try < 2 || part.Try > part.Tries || part.Wait < 0 {
				rule("%+v lacks a reason or a try that can be", part)
			}
			got.Retries = append(got.Retries, part)
		case model.TextDelta:
			if part.Text == "" || !utf8.ValidString(part.Text) {
				rule("the text %q is empty or no UTF-8", part.Text)
			}
			text.WriteString(part.Text)
		case model.TextWasReasoning:
			reasoning.WriteString(text.String())
			text.Reset()
		case model.ToolCallDelta:
		case model.ReasoningDelta:
			if part.Text == "" || !utf8.ValidString(part.Text) {
				rule("the reasoning %q is empty or no UTF-8", part.Text)
			}
			reasoning.WriteString(part.Text)
		case model.Reasoning:
			got.blocks = append(got.blocks, part)
		case model.ToolCall:
			if part.ID == "" || ids[part.ID] || part.Name == "" || part.Arguments == "" {
				rule("the tool call %+v lacks an id of its own, a name or arguments", part)
			}
			ids[part.ID] = true
			got.ToolCalls = append(got.ToolCalls, part)
		case model.Usage:
			got.Usage = part
		case model.Stop:
			if part.Reason == "" {
				rule("the stop has no reason")
			}
			got.Stop = part.Reason
		default:
			rule("unknown part %T", part)
		}
	}
	got.Text, got.Reasoning = text.String(), reasoning.String()
	if failed == nil && got.Stop == "" {
		rule("the answer ended without a stop")
	}
	return got, errors.Join(broken, failed)
}

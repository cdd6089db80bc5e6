package modeltest

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/replaymodel"
)

// openaiWire is the Chat Completions API
// (https://platform.openai.com/docs/api-reference/chat-streaming), with the
// reasoning_content of DeepSeek and those who follow it.
type openaiWire struct{}

func (openaiWire) key(h http.Header) string {
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

func (openaiWire) header() http.Header {
	return http.Header{
		"Content-Type": {"text/event-stream; charset=utf-8"},
		"X-Request-Id": {"req_scripted"},
	}
}

func openaiError(status int, message string) object {
	kind, code := "invalid_request_error", any(nil)
	switch {
	case status == 401:
		code = "invalid_api_key"
	case status == 429:
		kind, code = "requests", "rate_limit_exceeded"
	case status >= 500:
		kind = "server_error"
	}
	return object{"error": object{"message": message, "type": kind, "param": nil, "code": code}}
}

func (openaiWire) refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("X-Request-Id", "req_scripted")
	refuseJSON(w, status, openaiError(status, message))
}

func (openaiWire) failure(f *replaymodel.Failure) []byte {
	if f.Kind == model.ErrProtocol {
		return []byte("data: {\"choices\":[{\"index\":0,\"delta\":\n\n")
	}
	return openaiEvent(openaiError(f.Status, f.Message))
}

func openaiEvent(data object) []byte { return fmt.Appendf(nil, "data: %s\n\n", encode(data)) }

// chunk returns an event of an answer.
func chunk(req *parsed, choices []any, usage any) []byte {
	data := object{
		"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 1758000000, "model": req.model,
		"system_fingerprint": "fp_scripted", "choices": choices,
	}
	if req.includeUsage {
		data["usage"] = usage
	}
	return openaiEvent(data)
}

func delta(req *parsed, delta object, finish any) []byte {
	return chunk(req, []any{object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}}, nil)
}

func (openaiWire) begin(req *parsed, _ *replaymodel.Turn) []byte {
	return delta(req, object{"role": "assistant", "content": "", "refusal": nil}, nil)
}

func (openaiWire) content(req *parsed, turn *replaymodel.Turn) [][]byte {
	var events [][]byte
	add := func(d object) { events = append(events, delta(req, d, nil)) }
	for _, text := range turn.Reasoning {
		add(object{"content": nil, "reasoning_content": text})
	}
	for _, text := range turn.Text {
		add(object{"content": text})
	}
	for i, call := range turn.ToolCalls {
		add(object{"tool_calls": []any{object{
			"index": i, "id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": ""},
		}}})
		for _, piece := range pieces(string(call.Arguments)) {
			add(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": piece}}}})
		}
	}
	return events
}

func (openaiWire) end(req *parsed, turn *replaymodel.Turn) []byte {
	reason := map[model.StopReason]string{
		model.StopEnd: "stop", model.StopToolCalls: "tool_calls",
		model.StopMaxTokens: "length", model.StopRefusal: "content_filter",
	}[turn.Stop]
	end := delta(req, object{}, reason)
	if req.includeUsage {
		var u model.Usage
		if turn.Usage != nil {
			u = *turn.Usage
		}
		end = append(end, chunk(req, []any{}, object{
			"prompt_tokens": u.InputTokens, "completion_tokens": u.OutputTokens, "total_tokens": u.InputTokens + u.OutputTokens,
			"prompt_tokens_details": object{"cached_tokens": u.CacheReadTokens, "audio_tokens": 0},
		})...)
	}
	return append(end, "data: [DONE]\n\n"...)
}

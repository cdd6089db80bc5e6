package modeltest

import (
	"fmt"
	"net/http"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/replaymodel"
)

// anthropicWire is the Messages API:
// https://platform.claude.com/docs/en/build-with-claude/streaming
type anthropicWire struct{}

func (anthropicWire) key(h http.Header) string { return h.Get("X-Api-Key") }

func (anthropicWire) header() http.Header {
	return http.Header{
		"Content-Type":  {"text/event-stream; charset=utf-8"},
		"Cache-Control": {"no-cache"},
		"Request-Id":    {"req_011CScripted"},
	}
}

// anthropicErrors are the error types of the API by status.
var anthropicErrors = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
	404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error",
	504: "timeout_error", 529: "overloaded_error",
}

func anthropicError(status int, message string) object {
	kind := anthropicErrors[status]
	switch {
	case kind != "":
	case status >= 500:
		kind = "api_error"
	default:
		kind = "invalid_request_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_011CScripted"}
}

func (anthropicWire) refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Request-Id", "req_011CScripted")
	refuseJSON(w, status, anthropicError(status, message))
}

// failure sends an unavailable server as overloaded, as the API does within an answer.
// A protocol error is an event that is not JSON.
func (anthropicWire) failure(f *replaymodel.Failure) []byte {
	switch f.Kind {
	case model.ErrProtocol:
		return []byte("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":\n\n")
	case model.ErrUnavailable:
		return anthropicEvent("error", anthropicError(529, f.Message))
	default:
		return anthropicEvent("error", anthropicError(f.Status, f.Message))
	}
}

func anthropicEvent(name string, data object) []byte {
	data["type"] = name
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, encode(data))
}

func (anthropicWire) begin(req *parsed, turn *replaymodel.Turn) []byte {
	usage := anthropicUsage(turn)
	if turn.Usage != nil {
		usage["output_tokens"] = min(1, turn.Usage.OutputTokens) // the count when the answer begins
	}
	usage["service_tier"] = "standard"
	start := anthropicEvent("message_start", object{"message": object{
		"id": "msg_011CScripted", "type": "message", "role": "assistant", "model": req.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}})
	return append(start, anthropicEvent("ping", object{})...)
}

// anthropicUsage counts as the API does: input_tokens are the ones without the cache.
func anthropicUsage(turn *replaymodel.Turn) object {
	var u model.Usage
	if turn.Usage != nil {
		u = *turn.Usage
	}
	return object{
		"input_tokens":                u.InputTokens - u.CacheReadTokens - u.CacheWriteTokens,
		"cache_read_input_tokens":     u.CacheReadTokens,
		"cache_creation_input_tokens": u.CacheWriteTokens,
		"output_tokens":               u.OutputTokens,
	}
}

func (anthropicWire) content(_ *parsed, turn *replaymodel.Turn) [][]byte {
	var events [][]byte
	add := func(name string, data object) { events = append(events, anthropicEvent(name, data)) }
	index := -1
	start := func(block object) {
		index++
		add("content_block_start", object{"index": index, "content_block": block})
	}
	delta := func(kind, field, text string) {
		add("content_block_delta", object{"index": index, "delta": object{"type": kind, field: text}})
	}
	stop := func() { add("content_block_stop", object{"index": index}) }

	if turn.Reasoning.String() != "" || turn.Signature != "" {
		start(object{"type": "thinking", "thinking": "", "signature": ""})
		for _, text := range turn.Reasoning {
			delta("thinking_delta", "thinking", text)
		}
		delta("signature_delta", "signature", turn.Signature)
		stop()
	}
	if turn.Redacted != "" {
		start(object{"type": "redacted_thinking", "data": turn.Redacted})
		stop()
	}
	if len(turn.Text) > 0 {
		start(object{"type": "text", "text": ""})
		for _, text := range turn.Text {
			delta("text_delta", "text", text)
		}
		stop()
	}
	for _, call := range turn.ToolCalls {
		start(object{"type": "tool_use", "id": call.ID, "name": call.Name, "input": object{}})
		delta("input_json_delta", "partial_json", "")
		for _, piece := range pieces(string(call.Arguments)) {
			delta("input_json_delta", "partial_json", piece)
		}
		stop()
	}
	return events
}

func (anthropicWire) end(_ *parsed, turn *replaymodel.Turn) []byte {
	reason := map[model.StopReason]string{
		model.StopEnd: "end_turn", model.StopToolCalls: "tool_use",
		model.StopMaxTokens: "max_tokens", model.StopRefusal: "refusal",
	}[turn.Stop]
	end := anthropicEvent("message_delta", object{
		"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": anthropicUsage(turn),
	})
	return append(end, anthropicEvent("message_stop", object{})...)
}

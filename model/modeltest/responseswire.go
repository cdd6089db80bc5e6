package modeltest

import (
	"fmt"
	"maps"
	"strings"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/replaymodel"
)

// responsesWire is OpenAI's Responses API
// (https://platform.openai.com/docs/api-reference/responses-streaming), as far
// as a client needs it that keeps the conversation itself. Its errors, its key
// and its header are those of Chat Completions.
type responsesWire struct{ openaiWire }

const responseID = "resp_scripted"

// responsesEvent returns the event of a number in its response.
func responsesEvent(number int, kind string, data object) []byte {
	data["type"], data["sequence_number"] = kind, number
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", kind, encode(data))
}

// response is the response as the first and the last event show it.
func response(req *parsed, status string, more object) object {
	r := object{
		"id": responseID, "object": "response", "created_at": 1758000000, "status": status, "model": req.model,
		"output": []any{}, "error": nil, "incomplete_details": nil, "usage": nil,
	}
	maps.Copy(r, more)
	return object{"response": r}
}

func (responsesWire) begin(req *parsed, _ *replaymodel.Turn) []byte {
	return append(responsesEvent(0, "response.created", response(req, "in_progress", nil)),
		responsesEvent(1, "response.in_progress", response(req, "in_progress", nil))...)
}

// begun is how many events begin returns.
const begun = 2

func (responsesWire) content(_ *parsed, turn *replaymodel.Turn) [][]byte {
	var events [][]byte
	add := func(kind string, data object) { events = append(events, responsesEvent(begun+len(events), kind, data)) }
	for i, item := range outputItems(turn) {
		at := func(data object) object {
			data["item_id"], data["output_index"] = item["id"], i
			return data
		}
		empty := maps.Clone(item)
		empty["status"] = "in_progress"
		switch item["type"] {
		case "reasoning":
			add("response.output_item.added", object{"output_index": i, "item": object{"type": "reasoning", "id": item["id"], "summary": []any{}}})
			for _, piece := range turn.Reasoning {
				add("response.reasoning_summary_text.delta", at(object{"summary_index": 0, "delta": piece}))
			}
		case "message":
			text := turn.Text.String()
			empty["content"] = []any{}
			add("response.output_item.added", object{"output_index": i, "item": empty})
			add("response.content_part.added", at(object{"content_index": 0, "part": outputText("")}))
			for _, piece := range turn.Text {
				add("response.output_text.delta", at(object{"content_index": 0, "delta": piece, "logprobs": []any{}}))
			}
			add("response.output_text.done", at(object{"content_index": 0, "text": text, "logprobs": []any{}}))
			add("response.content_part.done", at(object{"content_index": 0, "part": outputText(text)}))
		case "function_call":
			empty["arguments"] = ""
			add("response.output_item.added", object{"output_index": i, "item": empty})
			args := item["arguments"].(string)
			for _, piece := range pieces(args) {
				add("response.function_call_arguments.delta", at(object{"delta": piece}))
			}
			add("response.function_call_arguments.done", at(object{"arguments": args}))
		}
		add("response.output_item.done", object{"output_index": i, "item": item})
	}
	return events
}

func outputText(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

// outputItems returns what a turn says, as the items of a whole response. A
// call of "namespace.name" is one of that namespace's function.
func outputItems(turn *replaymodel.Turn) []object {
	var items []object
	if len(turn.Reasoning) > 0 {
		items = append(items, object{
			"type": "reasoning", "id": "rs_scripted", "summary": []any{object{"type": "summary_text", "text": turn.Reasoning.String()}},
			"encrypted_content": turn.Signature,
		})
	}
	if len(turn.Text) > 0 {
		items = append(items, object{
			"type": "message", "id": "msg_scripted", "status": "completed", "role": "assistant",
			"content": []any{outputText(turn.Text.String())},
		})
	}
	for _, call := range turn.ToolCalls {
		item := object{
			"type": "function_call", "id": "fc_" + call.ID, "status": "completed", "call_id": call.ID,
			"name": call.Name, "arguments": string(call.Arguments),
		}
		if namespace, name, ok := strings.Cut(call.Name, "."); ok {
			item["namespace"], item["name"] = namespace, name
		}
		items = append(items, item)
	}
	return items
}

func (w responsesWire) end(req *parsed, turn *replaymodel.Turn) []byte {
	last := begun + len(w.content(req, turn))
	var u model.Usage
	if turn.Usage != nil {
		u = *turn.Usage
	}
	more := object{
		"output": outputItems(turn),
		"usage": object{
			"input_tokens": u.InputTokens, "input_tokens_details": object{"cached_tokens": u.CacheReadTokens},
			"output_tokens": u.OutputTokens, "output_tokens_details": object{"reasoning_tokens": 0},
			"total_tokens": u.InputTokens + u.OutputTokens,
		},
	}
	reason := map[model.StopReason]string{model.StopMaxTokens: "max_output_tokens", model.StopRefusal: "content_filter"}[turn.Stop]
	if reason == "" {
		return responsesEvent(last, "response.completed", response(req, "completed", more))
	}
	more["incomplete_details"] = object{"reason": reason}
	return responsesEvent(last, "response.incomplete", response(req, "incomplete", more))
}

func (responsesWire) failure(f *replaymodel.Failure) []byte {
	if f.Kind == model.ErrProtocol {
		return []byte("event: response.output_text.delta\ndata: {\"type\":\n\n")
	}
	body := openaiError(f.Status, f.Message)["error"].(object)
	return responsesEvent(begun, "response.failed", object{"response": object{
		"id": responseID, "object": "response", "status": "failed",
		"error": object{"code": body["code"], "message": f.Message},
	}})
}

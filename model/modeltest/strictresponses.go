package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// strictItems are the items of an answer as they have to come back: in their order, what the model has
// thought byte for byte. The Responses API refuses reasoning without the item that follows it
// (https://github.com/vercel/ai/issues/7099), and what it has not stored:
// https://github.com/maximhq/bifrost/issues/5410.
func strictItems(n int, turn StrictTurn) []any {
	thought := func(part string) object {
		return object{"type": "reasoning", "summary": []any{object{"type": "summary_text", "text": fmt.Sprintf("thought %d%s <a> & b", n, part)}},
			"encrypted_content": fmt.Sprintf("gAAA+%d%s/<==>", n, part)}
	}
	items := []any{thought("a"), object{"type": "message", "text": answerMark(n) + turn.Text}, thought("b")}
	for i := range turn.Calls {
		if i == 1 { // a model may think between its calls
			items = append(items, thought("c"))
		}
		items = append(items, object{"type": "function_call"})
	}
	return items
}

func (s *Strict) sendResponses(out *bytes.Buffer, turn StrictTurn) {
	n, value := s.seal(turn)
	events := 0
	send := func(kind string, data object) {
		out.Write(responsesEvent(events, kind, data))
		events++
	}
	send("response.created", object{"response": object{"id": "r", "object": "response", "status": "in_progress", "output": []any{}}})
	calls := turn.Calls
	for i, item := range value.([]any) {
		item := item.(object)
		id := fmt.Sprintf("item_%d_%d", n, i)
		switch item["type"] {
		case "reasoning":
			send("response.output_item.added", object{"output_index": i, "item": object{"type": "reasoning", "id": id, "summary": []any{}, "encrypted_content": "gAAA"}})
			send("response.output_item.done", object{"output_index": i, "item": object{"type": "reasoning", "id": id, "summary": item["summary"], "encrypted_content": item["encrypted_content"]}})
		case "message":
			send("response.output_item.added", object{"output_index": i, "item": object{"type": "message", "id": id, "status": "in_progress", "role": "assistant", "content": []any{}}})
			send("response.output_text.delta", object{"output_index": i, "item_id": id, "content_index": 0, "delta": item["text"]})
			if turn.Hang != nil {
				return
			}
			send("response.output_item.done", object{"output_index": i, "item": object{"type": "message", "id": id, "status": "completed", "role": "assistant", "content": []any{outputText(item["text"].(string))}}})
		case "function_call":
			call := object{"type": "function_call", "id": id, "call_id": calls[0].ID, "name": calls[0].Name, "arguments": ""}
			send("response.output_item.added", object{"output_index": i, "item": call})
			send("response.function_call_arguments.delta", object{"output_index": i, "item_id": id, "delta": calls[0].Arguments})
			call["arguments"] = calls[0].Arguments
			send("response.output_item.done", object{"output_index": i, "item": call})
			calls = calls[1:]
		}
	}
	send("response.completed", object{"response": object{"id": "r", "object": "response", "status": "completed", "output": []any{}}})
}

// readResponses reads a request of the Responses API. The items of an answer are one message.
func readResponses(body []byte) (all []StrictMessage, tools bool, fault string) {
	var req struct {
		Store    *bool
		Previous json.RawMessage `json:"previous_response_id"`
		Tools    []json.RawMessage
		Input    []json.RawMessage
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, false, err.Error()
	}
	if req.Store == nil || *req.Store || req.Previous != nil {
		return nil, false, "the server is asked to keep what is said"
	}
	var items []any // of the answer that is read
	answered := func() *StrictMessage {
		if len(items) == 0 {
			all = append(all, StrictMessage{Role: "assistant"})
		}
		return &all[len(all)-1]
	}
	closed := func() {
		if len(items) > 0 {
			all[len(all)-1].back = encode(items)
		}
		items = nil
	}
	thinks := false // the last item is reasoning
	for i, raw := range req.Input {
		var item struct {
			responsesItem
			ID *string
		}
		if err := json.Unmarshal(raw, &item); err != nil {
			return nil, false, fmt.Sprintf("input[%d]: %v", i, err)
		}
		if item.ID != nil {
			return nil, false, fmt.Sprintf("Item with id '%s' not found. Items are not persisted when `store` is set to false.", *item.ID)
		}
		mine := item.Type == "reasoning" || item.Type == "function_call" || item.Role == "assistant"
		if thinks && !mine {
			return nil, false, fmt.Sprintf("input[%d]: an item of type 'reasoning' was provided without its required following item", i-1)
		}
		thinks = item.Type == "reasoning"
		switch {
		case item.Type == "reasoning":
			answered()
			items = append(items, raw)
		case item.Type == "function_call":
			m := answered()
			m.Calls = append(m.Calls, StrictCall{item.CallID, item.Name, item.Arguments})
			items = append(items, object{"type": "function_call"})
		case mine:
			answered().Text += item.Content.text
			items = append(items, object{"type": "message", "text": item.Content.text})
		case item.Type == "function_call_output":
			closed()
			all = append(all, StrictMessage{Role: "tool", Text: item.Output.text, of: item.CallID})
		default:
			closed()
			all = append(all, StrictMessage{Role: item.Role, Text: item.Content.text})
		}
	}
	closed()
	return all, len(req.Tools) > 0, ""
}

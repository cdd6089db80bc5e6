package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/replaymodel"
)

// StablePrefix checks that the requests of a conversation begin with the same bytes, so that
// a provider's cache of the one before holds: the system prompt, the tools, and all messages of that
// one. on returns a model on a server. messages is the field of the requests that has these.
func StablePrefix(t *testing.T, messages string, on func(*Server) model.Model) {
	server := New(t, replaymodel.Script{{Text: replaymodel.Chunks{"ok"}, Repeat: true}}, nil)
	m := on(server)
	req := &model.Request{
		System: "Be brief.", Path: []string{"ses_a"},
		Tools:    []model.ToolSpec{{Name: "read", InputSchema: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}}}`)}},
		Messages: []model.Message{{Role: model.User, Text: "the task"}},
	}
	for step := range 8 {
		if _, err := Collect(m.Stream(t.Context(), req)); err != nil {
			t.Fatal(err)
		}
		var calls []model.ToolCall
		var results []model.ToolResult
		for i := range 1 + step*5 {
			id := fmt.Sprintf("call_%d_%d", step, i)
			calls = append(calls, model.ToolCall{ID: id, Name: "read", Arguments: `{"z": 1, "a": "ä<"}`})
			results = append(results, model.ToolResult{ToolCallID: id, Text: "result " + id, IsError: i == 1})
		}
		req.Messages = append(slices.Clip(req.Messages),
			model.Message{Role: model.Assistant, Text: "I look.", ToolCalls: calls}, model.Message{Role: model.User, ToolResults: results})
		req.LongestAnswer = 50_000 - step
	}
	var before map[string]json.RawMessage
	for n, got := range server.Received() {
		var body map[string]json.RawMessage
		if err := json.Unmarshal(got.Body, &body); err != nil {
			t.Fatal(err)
		}
		for _, field := range slices.Sorted(maps.Keys(body)) {
			switch {
			case before == nil || field == "max_tokens":
			case field != messages && !bytes.Equal(body[field], before[field]):
				t.Errorf("request %d has another %s: %s, before %s", n+1, field, body[field], before[field])
			case field == messages:
				checkPrefix(t, n+1, elements(t, before[field]), elements(t, body[field]))
			}
		}
		before = body
	}
}

func elements(t *testing.T, list json.RawMessage) (all []json.RawMessage) {
	if err := json.Unmarshal(list, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// cachePoint is how Anthropic's API marks the end of what it is to cache. The mark does not count.
const cachePoint = `,"cache_control":{"type":"ephemeral"}`

// checkPrefix checks that a request repeats the messages of the one before. Where that has a mark at its
// end, this one has it, too.
func checkPrefix(t *testing.T, n int, before, now []json.RawMessage) {
	for i, message := range before {
		plain := func(m json.RawMessage) []byte { return bytes.ReplaceAll(m, []byte(cachePoint), nil) }
		if i >= len(now) || !bytes.Equal(plain(message), plain(now[i])) {
			t.Errorf("request %d: message %d is another one than before: %s", n, i, message)
			return
		}
	}
	last := len(before) - 1
	if marked := []byte(cachePoint); bytes.Contains(before[last], marked) && !bytes.Contains(now[last], marked) {
		t.Errorf("request %d has no cache point where the one before ended", n)
	}
}

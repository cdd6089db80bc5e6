package modeltest_test

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/replaymodel"
)

// TestWire shows the formats as they are sent.
func TestWire(t *testing.T) {
	script := replaymodel.Script{{
		Text: replaymodel.Chunks{"Hi"}, ToolCalls: []replaymodel.ToolCall{{Name: "grep", Arguments: `{"a":"äöü"}`}},
		Usage: &model.Usage{InputTokens: 10, OutputTokens: 2, CacheReadTokens: 4, CacheWriteTokens: 1},
	}}
	server := modeltest.New(t, script, nil)
	for _, test := range answers {
		status, header, got := post(t, server.URL+test.path, version, test.body)
		if status != 200 || !strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") || got != test.want {
			t.Errorf("%s: got status %d, header %v and\n%s\nwant\n%s", test.path, status, header, got, test.want)
		}
	}
}

// answers are the rows of TestWire.
var answers = []struct{ path, body, want string }{
	{"/v1/messages", anthropicHello, `event: message_start
data: {"message":{"content":[],"id":"msg_011CScripted","model":"m","role":"assistant","stop_reason":null,"stop_sequence":null,"type":"message","usage":{"cache_creation_input_tokens":1,"cache_read_input_tokens":4,"input_tokens":5,"output_tokens":1,"service_tier":"standard"}},"type":"message_start"}

event: ping
data: {"type":"ping"}

event: content_block_start
data: {"content_block":{"text":"","type":"text"},"index":0,"type":"content_block_start"}

event: content_block_delta
data: {"delta":{"text":"Hi","type":"text_delta"},"index":0,"type":"content_block_delta"}

event: content_block_stop
data: {"index":0,"type":"content_block_stop"}

event: content_block_start
data: {"content_block":{"id":"call_1_1","input":{},"name":"grep","type":"tool_use"},"index":1,"type":"content_block_start"}

event: content_block_delta
data: {"delta":{"partial_json":"","type":"input_json_delta"},"index":1,"type":"content_block_delta"}

event: content_block_delta
data: {"delta":{"partial_json":"{\"a\":\"ä","type":"input_json_delta"},"index":1,"type":"content_block_delta"}

event: content_block_delta
data: {"delta":{"partial_json":"öü\"}","type":"input_json_delta"},"index":1,"type":"content_block_delta"}

event: content_block_stop
data: {"index":1,"type":"content_block_stop"}

event: message_delta
data: {"delta":{"stop_reason":"tool_use","stop_sequence":null},"type":"message_delta","usage":{"cache_creation_input_tokens":1,"cache_read_input_tokens":4,"input_tokens":5,"output_tokens":2}}

event: message_stop
data: {"type":"message_stop"}

`},
	{"/v1/chat/completions", openaiHello, strings.ReplaceAll(`data: {"choices":[{"delta":{"content":"","refusal":null,"role":"assistant"},"finish_reason":null,"index":0,"logprobs":null}],…,"usage":null}

data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":null,"index":0,"logprobs":null}],…,"usage":null}

data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"","name":"grep"},"id":"call_1_1","index":0,"type":"function"}]},"finish_reason":null,"index":0,"logprobs":null}],…,"usage":null}

data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{\"a\":\"ä"},"index":0}]},"finish_reason":null,"index":0,"logprobs":null}],…,"usage":null}

data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"öü\"}"},"index":0}]},"finish_reason":null,"index":0,"logprobs":null}],…,"usage":null}

data: {"choices":[{"delta":{},"finish_reason":"tool_calls","index":0,"logprobs":null}],…,"usage":null}

data: {"choices":[],…,"usage":{"completion_tokens":2,"prompt_tokens":10,"prompt_tokens_details":{"audio_tokens":0,"cached_tokens":4},"total_tokens":12}}

data: [DONE]

`, "…", `"created":1758000000,"id":"chatcmpl-scripted","model":"m","object":"chat.completion.chunk","system_fingerprint":"fp_scripted"`)},
	{"/v1/responses", responsesHello, strings.ReplaceAll(`event: response.created
data: {"response":{…,"incomplete_details":null,"model":"m","object":"response","output":[],"status":"in_progress","usage":null},"sequence_number":0,"type":"response.created"}

event: response.in_progress
data: {"response":{…,"incomplete_details":null,"model":"m","object":"response","output":[],"status":"in_progress","usage":null},"sequence_number":1,"type":"response.in_progress"}

event: response.output_item.added
data: {"item":{"content":[],"id":"msg_scripted","role":"assistant","status":"in_progress","type":"message"},"output_index":0,"sequence_number":2,"type":"response.output_item.added"}

event: response.content_part.added
data: {"content_index":0,"item_id":"msg_scripted","output_index":0,"part":{"annotations":[],"logprobs":[],"text":"","type":"output_text"},"sequence_number":3,"type":"response.content_part.added"}

event: response.output_text.delta
data: {"content_index":0,"delta":"Hi","item_id":"msg_scripted","logprobs":[],"output_index":0,"sequence_number":4,"type":"response.output_text.delta"}

event: response.output_text.done
data: {"content_index":0,"item_id":"msg_scripted","logprobs":[],"output_index":0,"sequence_number":5,"text":"Hi","type":"response.output_text.done"}

event: response.content_part.done
data: {"content_index":0,"item_id":"msg_scripted","output_index":0,"part":{"annotations":[],"logprobs":[],"text":"Hi","type":"output_text"},"sequence_number":6,"type":"response.content_part.done"}

event: response.output_item.done
data: {"item":{"content":[{"annotations":[],"logprobs":[],"text":"Hi","type":"output_text"}],"id":"msg_scripted","role":"assistant","status":"completed","type":"message"},"output_index":0,"sequence_number":7,"type":"response.output_item.done"}

event: response.output_item.added
data: {"item":{"arguments":"","call_id":"call_1_1","id":"fc_call_1_1","name":"grep","status":"in_progress","type":"function_call"},"output_index":1,"sequence_number":8,"type":"response.output_item.added"}

event: response.function_call_arguments.delta
data: {"delta":"{\"a\":\"ä","item_id":"fc_call_1_1","output_index":1,"sequence_number":9,"type":"response.function_call_arguments.delta"}

event: response.function_call_arguments.delta
data: {"delta":"öü\"}","item_id":"fc_call_1_1","output_index":1,"sequence_number":10,"type":"response.function_call_arguments.delta"}

event: response.function_call_arguments.done
data: {"arguments":"{\"a\":\"äöü\"}","item_id":"fc_call_1_1","output_index":1,"sequence_number":11,"type":"response.function_call_arguments.done"}

event: response.output_item.done
data: {"item":{"arguments":"{\"a\":\"äöü\"}","call_id":"call_1_1","id":"fc_call_1_1","name":"grep","status":"completed","type":"function_call"},"output_index":1,"sequence_number":12,"type":"response.output_item.done"}

event: response.completed
data: {"response":{…,"incomplete_details":null,"model":"m","object":"response","output":[{"content":[{"annotations":[],"logprobs":[],"text":"Hi","type":"output_text"}],"id":"msg_scripted","role":"assistant","status":"completed","type":"message"},{"arguments":"{\"a\":\"äöü\"}","call_id":"call_1_1","id":"fc_call_1_1","name":"grep","status":"completed","type":"function_call"}],"status":"completed","usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":12}},"sequence_number":13,"type":"response.completed"}

`, "…", `"created_at":1758000000,"error":null,"id":"resp_scripted"`)},
}

// TestResponsesEnds: how an answer of the Responses API may end.
func TestResponsesEnds(t *testing.T) {
	for _, test := range []struct{ turn, want string }{
		{`{"text": "Hi", "stop": "max_tokens"}`, `"incomplete_details":{"reason":"max_output_tokens"}`},
		{`{"text": "Hi", "stop": "refusal"}`, `"incomplete_details":{"reason":"content_filter"}`},
		{`{"text": "Hi", "error": {"kind": "rate_limited", "message": "slowly"}}`, `"error":{"code":"rate_limit_exceeded","message":"slowly"}`},
		{`{"text": "Hi", "error": {"kind": "protocol"}}`, `data: {"type":` + "\n"},
		{`{"toolCalls": [{"name": "mcp__worker.task"}]}`, `"name":"task","namespace":"mcp__worker"`},
	} {
		script, err := replaymodel.Parse([]byte(test.turn))
		if err != nil {
			t.Fatal(err)
		}
		server := modeltest.New(t, script, nil)
		if status, _, got := post(t, server.URL+"/v1/responses", nil, responsesHello); status != 200 || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %d %s, want %s", test.turn, status, got, test.want)
		}
	}
}

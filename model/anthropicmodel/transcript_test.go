package anthropicmodel_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/anthropicmodel"
	"github.com/agentworker/worker/model/modeltest"
)

// over returns a model on a transport.
func over(tr *modeltest.Exchange) *anthropicmodel.Model {
	return anthropicmodel.New("claude-test", &anthropicmodel.Options{
		APIKey: key, HTTPClient: &http.Client{Transport: tr}, MaxRetries: new(int),
	})
}

var transcripts = map[string]modeltest.Answer{
	"anthropic-tools": {
		Text: "I'll look at both files 🔎.",
		ToolCalls: []model.ToolCall{
			{ID: "toolu_017QoD96fYwGzCWvLfaPADWg", Name: "read_file", Arguments: `{"path": "README.md"}`},
			{ID: "toolu_01TmcNv5DzFz2pq4MK8bcoQZ", Name: "list_dir", Arguments: `{}`},
		},
		Usage: model.Usage{InputTokens: 394, OutputTokens: 79},
		Stop:  model.StopToolCalls,
	},
	"anthropic-thinking": {
		Text:      "It is 42.",
		Reasoning: "The user wants the sum. 27 + 15 = 42.",
		Usage:     model.Usage{InputTokens: 5052, OutputTokens: 57, CacheReadTokens: 4810, CacheWriteTokens: 230},
		Stop:      model.StopEnd,
	},
}

func TestTranscripts(t *testing.T) {
	for name, want := range transcripts {
		tr := &modeltest.Exchange{Body: modeltest.Transcript(name)}
		got, err := modeltest.Collect(over(tr).Stream(t.Context(), modeltest.Ask("hello")))
		blocks := got.Message().Reasoning
		if err != nil || !reflect.DeepEqual(plain(got), want) {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
		if !tr.Closed {
			t.Errorf("%s: the body was not closed", name)
		}
		if name != "anthropic-thinking" {
			continue
		}
		if len(blocks) != 2 || blocks[0].Text != want.Reasoning || blocks[0].Signature != "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds" ||
			!strings.HasPrefix(blocks[1].Redacted, "EmwKAhgBEgy3") || blocks[1].Text != "" {
			t.Errorf("%s: got the reasoning %+v, want the block with its signature and the redacted one", name, blocks)
		}
	}
}

// plain returns an answer without the reasoning to hand back.
func plain(a modeltest.Answer) modeltest.Answer {
	return modeltest.Answer{Text: a.Text, Reasoning: a.Reasoning, ToolCalls: a.ToolCalls, Usage: a.Usage, Stop: a.Stop}
}

func TestErrorEvent(t *testing.T) {
	tr := &modeltest.Exchange{Body: modeltest.Transcript("anthropic-overloaded")}
	got, err := modeltest.Collect(over(tr).Stream(t.Context(), modeltest.Ask("hello")))
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.ErrUnavailable || e.Status != 0 || got.Text != "Let me " {
		t.Errorf("got %+v, %#v, want the text before the error and kind unavailable", got, err)
	}
}

// TestCutAnywhere ends each transcript after each of its bytes, well and badly:
// an answer is complete only if its stop reason has come.
func TestCutAnywhere(t *testing.T) {
	for name := range transcripts {
		whole := modeltest.Transcript(name)
		stopped := bytes.Index(whole, []byte(`"stop_reason":"`))
		stopped += bytes.Index(whole[stopped:], []byte("\n\n")) + 2
		for n := range whole {
			for _, end := range []error{nil, io.ErrUnexpectedEOF} {
				tr := &modeltest.Exchange{Body: whole[:n], Err: end}
				got, err := modeltest.Collect(over(tr).Stream(t.Context(), modeltest.Ask("hello")))
				var e *model.Error
				stopped := stopped
				if end == nil {
					stopped -= len("\n\n") // which some servers leave out
				}
				if n >= stopped {
					if err != nil || got.Stop == "" {
						t.Fatalf("%s, cut after %d bytes (%v): got %+v, %v, want the answer", name, n, end, got, err)
					}
					continue
				}
				if !errors.As(err, &e) || e.Kind != model.ErrUnavailable || got.Stop != "" {
					t.Fatalf("%s, cut after %d bytes (%v): got %+v, %v, want kind unavailable", name, n, end, got, err)
				}
				if !tr.Closed {
					t.Fatalf("%s, cut after %d bytes (%v): the body was not closed", name, n, end)
				}
			}
		}
	}
}

// event returns an event as the API sends it.
func event(name, rest string) string {
	return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + rest + "}\n\n"
}

// TestOddAnswers: servers that are almost like Anthropic's, and what may be
// added to the API.
func TestOddAnswers(t *testing.T) {
	begin := event("message_start", `,"message":{"usage":{"input_tokens":5,"output_tokens":1}}`)
	end := event("message_delta", `,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}`) + event("message_stop", "")
	block := func(block string, deltas ...string) string {
		all := event("content_block_start", `,"index":0,"content_block":`+block)
		for _, delta := range deltas {
			all += event("content_block_delta", `,"index":0,"delta":`+delta)
		}
		return all + event("content_block_stop", `,"index":0`)
	}
	usage := model.Usage{InputTokens: 5, OutputTokens: 3}
	called := func(call model.ToolCall) modeltest.Answer {
		return modeltest.Answer{ToolCalls: []model.ToolCall{call}, Usage: usage, Stop: model.StopToolCalls}
	}
	for _, test := range []struct {
		name, body string
		want       modeltest.Answer
	}{
		{"text at once", block(`{"type":"text","text":"so"}`), modeltest.Answer{Text: "so", Usage: usage, Stop: model.StopEnd}},
		{"thinking at once", block(`{"type":"thinking","thinking":"so"}`), modeltest.Answer{Reasoning: "so", Usage: usage, Stop: model.StopEnd}},
		{"empty deltas", block(`{"type":"text","text":""}`, `{"type":"text_delta","text":""}`, `{"type":"thinking_delta","thinking":""}`),
			modeltest.Answer{Usage: usage, Stop: model.StopEnd}},
		{"input at once", block(`{"type":"tool_use","id":"a","name":"b","input":{"c": 1}}`), called(model.ToolCall{ID: "a", Name: "b", Arguments: `{"c": 1}`})},
		{"a delta of a block that has not begun", event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"so"}`),
			modeltest.Answer{Text: "so", Usage: usage, Stop: model.StopEnd}},
		{"no names of events", `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"so"}}` + "\n\n",
			modeltest.Answer{Text: "so", Usage: usage, Stop: model.StopEnd}},
		{"keep-alives", "data:\n\ndata: [PING]\n\n: ping\n\n" + block(`{"type":"text","text":"so"}`), modeltest.Answer{Text: "so", Usage: usage, Stop: model.StopEnd}},
		{"no input", block(`{"type":"tool_use","id":"a","name":"b"}`), called(model.ToolCall{ID: "a", Name: "b", Arguments: `{}`})},
		{"null for input", block(`{"type":"tool_use","id":"a","name":"b","input":null}`), called(model.ToolCall{ID: "a", Name: "b", Arguments: `{}`})},
		{"no end of a block", strings.TrimSuffix(block(`{"type":"tool_use","id":"a","name":"b","input":{}}`), event("content_block_stop", `,"index":0`)),
			called(model.ToolCall{ID: "a", Name: "b", Arguments: `{}`})},
		{"unknown events, blocks and deltas", event("news", `,"index":9`) + block(`{"type":"news","input":{}}`, `{"type":"news_delta","text":"x"}`) +
			block(`{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`, `{"type":"input_json_delta","partial_json":"{}"}`),
			modeltest.Answer{Usage: usage, Stop: model.StopEnd}},
	} {
		got, err := modeltest.Collect(over(&modeltest.Exchange{Body: []byte(begin + test.body + end)}).Stream(t.Context(), modeltest.Ask("hello")))
		if err != nil || !reflect.DeepEqual(plain(got), test.want) {
			t.Errorf("%s: got %+v, %v, want %+v", test.name, got, err, test.want)
		}
	}

	twice := block(`{"type":"tool_use","id":"a","name":"b"}`) + block(`{"type":"tool_use","id":"a","name":"b"}`) + block(`{"type":"tool_use","name":"b"}`)
	got, err := modeltest.Collect(over(&modeltest.Exchange{Body: []byte(begin + twice + end)}).Stream(t.Context(), modeltest.Ask("hello")))
	if err != nil || len(got.ToolCalls) != 3 { // Collect checks that the ids differ
		t.Errorf("ids that are not unique: got %+v, %v, want three calls", got, err)
	}
	nameless := block(`{"type":"tool_use","id":"a"}`)
	got, err = modeltest.Collect(over(&modeltest.Exchange{Body: []byte(begin + nameless + end)}).Stream(t.Context(), modeltest.Ask("hello")))
	if len(got.ToolCalls) != 1 || got.ToolCalls[0].Name != "" { // it is answered with an error
		t.Errorf("a call without a name: got %+v, %v", got, err)
	}
}

func TestStopReasons(t *testing.T) {
	call := event("content_block_start", `,"index":0,"content_block":{"type":"tool_use","id":"a","name":"b","input":{}}`) +
		event("content_block_stop", `,"index":0`)
	for _, test := range []struct {
		before, reason string
		want           model.StopReason
	}{
		{"", "end_turn", model.StopEnd},
		{"", "stop_sequence", model.StopEnd},
		{"", "pause_turn", model.StopEnd},
		{"", "something_new", model.StopEnd},
		{"", "tool_use", model.StopEnd}, // it has none
		{"", "max_tokens", model.StopMaxTokens},
		{"", "model_context_window_exceeded", model.StopMaxTokens},
		{"", "refusal", model.StopRefusal},
		{call, "tool_use", model.StopToolCalls},
		{call, "end_turn", model.StopToolCalls},
		{call, "something_new", model.StopToolCalls},
		{call, "max_tokens", model.StopMaxTokens},
	} {
		body := test.before + event("message_delta", `,"delta":{"stop_reason":"`+test.reason+`"}`) + event("message_stop", "")
		got, err := modeltest.Collect(over(&modeltest.Exchange{Body: []byte(body)}).Stream(t.Context(), modeltest.Ask("hello")))
		if err != nil || got.Stop != test.want {
			t.Errorf("%q, then %s: got %+v, %v, want %s", test.before, test.reason, got, err, test.want)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	for _, name := range []string{"anthropic-tools", "anthropic-thinking", "anthropic-overloaded"} {
		f.Add(modeltest.Transcript(name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := modeltest.Collect(over(&modeltest.Exchange{Body: data}).Stream(t.Context(), modeltest.Ask("hello")))
		var e *model.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%q: %v, want no error or a *model.Error", data, err)
		}
	})
}

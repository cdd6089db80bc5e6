package openaimodel_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/openaimodel"
)

// over returns a model on a transport.
func over(tr *modeltest.Exchange) *openaimodel.Model {
	return openaimodel.New("gpt-test", &openaimodel.Options{
		APIKey: key, HTTPClient: &http.Client{Transport: tr}, MaxRetries: new(int),
	})
}

// transcripts are answers by the name of their transcript. Ids that the adapter
// makes up are "made up".
var transcripts = map[string]modeltest.Answer{
	"openai-tools": {
		ToolCalls: []model.ToolCall{
			{ID: "call_FXoAjBUMcVv1k40fficJ9cSs", Name: "read_file", Arguments: `{"path":"wörld.txt"}`},
			{ID: "call_oJcMXPRSVGNmmuoJE8mF1fLP", Name: "grep", Arguments: `{"pattern":"a.*b"}`},
		},
		Usage: model.Usage{InputTokens: 1149, OutputTokens: 60, CacheReadTokens: 1024},
		Stop:  model.StopToolCalls,
	},
	"openai-text": {
		Text: "Grüße 👋", Usage: model.Usage{InputTokens: 9, OutputTokens: 4}, Stop: model.StopEnd,
	},
	"deepseek-tools": {
		Reasoning: "I need the date.",
		ToolCalls: []model.ToolCall{{ID: "call_00_Mls0ePdQ5VRZXSDUYFFcGSfT", Name: "shell_exec", Arguments: `{"command": "date"}`}},
		Usage:     model.Usage{InputTokens: 312, OutputTokens: 48, CacheReadTokens: 256},
		Stop:      model.StopToolCalls,
	},
	"ollama-tools": {
		Reasoning: "Weather, then.",
		ToolCalls: []model.ToolCall{{ID: "call_x2oq9m3v", Name: "get_weather", Arguments: `{"city":"Paris"}`}},
		Stop:      model.StopToolCalls,
	},
	"gemini-tools": {
		ToolCalls: []model.ToolCall{
			{ID: "made up", Name: "get_weather", Arguments: `{"city":"Paris"}`},
			{ID: "made up", Name: "get_weather", Arguments: `{"city":"Oslo"}`},
		},
		Usage: model.Usage{InputTokens: 75, OutputTokens: 30},
		Stop:  model.StopToolCalls,
	},
}

func TestTranscripts(t *testing.T) {
	for name, want := range transcripts {
		tr := &modeltest.Exchange{Body: modeltest.Transcript(name)}
		got, err := modeltest.Collect(over(tr).Stream(t.Context(), modeltest.Ask("hello")))
		if err != nil || !reflect.DeepEqual(plain(got), want) {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
		if !tr.Closed {
			t.Errorf("%s: the body was not closed", name)
		}
	}
}

// plain returns an answer without the reasoning to hand back, and without the
// ids that the adapter has made up.
func plain(a modeltest.Answer) modeltest.Answer {
	plain := modeltest.Answer{Text: a.Text, Reasoning: a.Reasoning, Usage: a.Usage, Stop: a.Stop}
	for _, call := range a.ToolCalls {
		if len(call.ID) == len("call_")+26 { // the length of rand.Text
			call.ID = "made up"
		}
		plain.ToolCalls = append(plain.ToolCalls, call)
	}
	return plain
}

func TestErrorObject(t *testing.T) {
	tr := &modeltest.Exchange{Body: modeltest.Transcript("openrouter-error")}
	got, err := modeltest.Collect(over(tr).Stream(t.Context(), modeltest.Ask("hello")))
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.ErrUnavailable || e.Status != 0 || got.Text != "Well" || got.Reasoning != "Hm" {
		t.Errorf("got %+v, %#v, want the text before the error and kind unavailable", got, err)
	}
}

// TestCutAnywhere ends each transcript after each of its bytes, with and without an
// error. An answer is complete only after its finish reason, and then has all of its
// text and calls.
func TestCutAnywhere(t *testing.T) {
	for name, want := range transcripts {
		whole := modeltest.Transcript(name)
		finished := bytes.Index(whole, []byte(`"finish_reason":"`))
		finished += bytes.Index(whole[finished:], []byte("\n\n")) + 2
		for n := range whole {
			for _, end := range []error{nil, io.ErrUnexpectedEOF} {
				tr := &modeltest.Exchange{Body: whole[:n], Err: end}
				got, err := modeltest.Collect(over(tr).Stream(t.Context(), modeltest.Ask("hello")))
				var e *model.Error
				finished := finished
				if end == nil {
					finished -= len("\n\n") // which some servers leave out
				}
				if n < finished && end == nil && err == nil && len(got.ToolCalls) > 0 { // in order, behind whole calls
					if calls := plain(got).ToolCalls; !reflect.DeepEqual(calls, want.ToolCalls[:min(len(calls), len(want.ToolCalls))]) {
						t.Fatalf("%s, ended after %d bytes: got %+v, want a part of %+v", name, n, got, want)
					}
					continue
				}
				if n < finished {
					if !errors.As(err, &e) || e.Kind != model.ErrUnavailable || got.Stop != "" {
						t.Fatalf("%s, cut after %d bytes (%v): got %+v, %v, want kind unavailable", name, n, end, got, err)
					}
				} else {
					got := plain(got)
					got.Usage = want.Usage // it may come last
					if err != nil || !reflect.DeepEqual(got, want) {
						t.Fatalf("%s, cut after %d bytes (%v): got %+v, %v, want %+v", name, n, end, got, err, want)
					}
				}
				if !tr.Closed {
					t.Fatalf("%s, cut after %d bytes (%v): the body was not closed", name, n, end)
				}
			}
		}
	}
}

// chunks returns a stream of chunks with these choices.
func chunks(choices ...string) []byte {
	var all strings.Builder
	for _, choice := range choices {
		all.WriteString(`data: {"object":"chat.completion.chunk","error":null,"choices":[` + choice + "]}\n\n")
	}
	return []byte(all.String())
}

// calls returns a stream with these lists of tool call deltas, and its end.
func calls(deltas ...string) []byte {
	var choices []string
	for _, delta := range deltas {
		choices = append(choices, `{"index":0,"delta":{"tool_calls":[`+delta+`]},"finish_reason":null}`)
	}
	return chunks(append(choices, `{"index":0,"delta":{},"finish_reason":"tool_calls"}`)...)
}

func TestToolCallDeltas(t *testing.T) {
	paris := model.ToolCall{ID: "a", Name: "weather", Arguments: `{"city":"Paris"}`}
	oslo := model.ToolCall{ID: "b", Name: "weather", Arguments: `{"city":"Oslo"}`}
	madeUp := func(call model.ToolCall) model.ToolCall { call.ID = "made up"; return call }
	for _, test := range []struct {
		name string
		body []byte
		want []model.ToolCall
	}{
		{"by index, in turns", calls(
			`{"index":0,"id":"a","function":{"name":"weather","arguments":""}}`,
			`{"index":1,"id":"b","function":{"name":"weather"}}`,
			`{"index":0,"function":{"arguments":"{\"city\":"}},{"index":1,"function":{"arguments":"{\"city\":\"O"}}`,
			`{"index":1,"function":{"arguments":"slo\"}"}}`,
			`{"index":0,"function":{"arguments":"\"Paris\"}"}}`,
		), []model.ToolCall{paris, oslo}},
		{"an index that begins at 1", calls(`{"index":1,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}`),
			[]model.ToolCall{paris}},
		{"whole calls without index", calls(
			`{"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}},{"id":"b","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}`,
		), []model.ToolCall{paris, oslo}},
		{"pieces without index", calls(
			`{"id":"a","function":{"name":"weather","arguments":"{\"city\":"}}`, `{"function":{"arguments":"\"Paris\"}"}}`,
			`{"id":"b","function":{"name":"weather","arguments":""}}`, `{"function":{"arguments":"{\"city\":\"Oslo\"}"}}`,
		), []model.ToolCall{paris, oslo}},
		{"pieces without index and with their id again", calls(
			`{"id":"a","function":{"name":"weather","arguments":"{\"city\":"}}`, `{"id":"a","function":{"name":"weather","arguments":"\"Paris\"}"}}`,
		), []model.ToolCall{paris}},
		{"index 0 for all", calls(
			`{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}`,
			`{"index":0,"id":"b","function":{"name":"weather","arguments":"{\"city\":"}}`,
			`{"index":0,"function":{"arguments":"\"Oslo\"}"}}`,
		), []model.ToolCall{paris, oslo}},
		{"another id for each piece", calls(
			`{"index":0,"id":"a","function":{"name":"weather","arguments":""}}`,
			`{"index":0,"id":"x","function":{"arguments":"{\"city\":"}}`,
			`{"index":0,"id":"y","function":{"arguments":"\"Paris\"}"}}`,
		), []model.ToolCall{paris}},
		{"the id comes late", calls(
			`{"index":0,"function":{"name":"weather","arguments":"{\"city\":"}}`, `{"index":0,"id":"a","function":{"arguments":"\"Paris\"}"}}`,
		), []model.ToolCall{paris}},
		{"no id", calls(`{"index":0,"function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}`), []model.ToolCall{madeUp(paris)}},
		{"null for an id", calls(`{"index":0,"id":null,"function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}`),
			[]model.ToolCall{madeUp(paris)}},
		{"one id for two", calls(
			`{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}`,
			`{"index":1,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}`,
		), []model.ToolCall{paris, madeUp(oslo)}},
		{"arguments as an object", calls(`{"index":0,"id":"a","function":{"name":"weather","arguments":{"city":"Paris"}}}`), []model.ToolCall{paris}},
		{"no arguments", calls(`{"index":0,"id":"a","function":{"name":"weather"}}`), []model.ToolCall{{ID: "a", Name: "weather", Arguments: "{}"}}},
		{"null for arguments", calls(`{"index":0,"id":"a","function":{"name":"weather","arguments":null}}`),
			[]model.ToolCall{{ID: "a", Name: "weather", Arguments: "{}"}}},
		{"broken arguments", calls(`{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city"}}`),
			[]model.ToolCall{{ID: "a", Name: "weather", Arguments: `{"city`}}},
	} {
		got, err := modeltest.Collect(over(&modeltest.Exchange{Body: test.body}).Stream(t.Context(), modeltest.Ask("hello")))
		if err != nil || !reflect.DeepEqual(plain(got).ToolCalls, test.want) || got.Stop != model.StopToolCalls {
			t.Errorf("%s: got %+v, %v, want %+v", test.name, got, err, test.want)
		}
	}
	got, err := modeltest.Collect(over(&modeltest.Exchange{Body: calls(`{"index":0,"id":"a","function":{"arguments":"{}"}}`)}).Stream(t.Context(), modeltest.Ask("hello")))
	if len(got.ToolCalls) != 1 || got.ToolCalls[0].Name != "unnamed" || err != nil { // it is answered with an error
		t.Errorf("a call without a name: got %+v, %v", got, err)
	}
}

func TestFinishReasons(t *testing.T) {
	call := `{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"weather"}}]},"finish_reason":null}`
	text := `{"index":0,"delta":{"content":"so"},"finish_reason":null}`
	for _, test := range []struct {
		before, reason string
		want           model.StopReason
	}{
		{text, "stop", model.StopEnd},
		{text, "length", model.StopMaxTokens},
		{text, "content_filter", model.StopRefusal},
		{text, "eos", model.StopEnd},
		{text, "tool_calls", model.StopEnd}, // it has none
		{call, "tool_calls", model.StopToolCalls},
		{call, "stop", model.StopToolCalls},
		{call, "function_call", model.StopToolCalls},
		{call, "length", model.StopMaxTokens},
		{`{"index":0,"delta":{"refusal":"I can't."},"finish_reason":null}`, "stop", model.StopRefusal},
	} {
		body := chunks(test.before, `{"index":1,"delta":{"content":"another choice"},"finish_reason":"stop"}`,
			`{"index":0,"delta":{},"finish_reason":"`+test.reason+`"}`)
		got, err := modeltest.Collect(over(&modeltest.Exchange{Body: body}).Stream(t.Context(), modeltest.Ask("hello")))
		if err != nil || got.Stop != test.want || strings.Contains(got.Text, "another") {
			t.Errorf("%s, then %s: got %+v, %v, want %s", test.before, test.reason, got, err, test.want)
		}
	}
}

// TestUsageInEveryChunk: some servers count on the way; the last count counts.
func TestUsageInEveryChunk(t *testing.T) {
	body := `data: {"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":5,"completion_tokens":1}}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}

data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}

`
	got, err := modeltest.Collect(over(&modeltest.Exchange{Body: []byte(body)}).Stream(t.Context(), modeltest.Ask("hello")))
	if want := (model.Usage{InputTokens: 5, OutputTokens: 2}); err != nil || got.Usage != want {
		t.Errorf("got %+v, %v, want the usage %+v", got, err, want)
	}
}

func FuzzAnswer(f *testing.F) {
	for name := range transcripts {
		f.Add(modeltest.Transcript(name))
	}
	f.Add(modeltest.Transcript("openrouter-error"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := modeltest.Collect(over(&modeltest.Exchange{Body: data}).Stream(t.Context(), modeltest.Ask("hello")))
		var e *model.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%q: %v, want no error or a *model.Error", data, err)
		}
	})
}

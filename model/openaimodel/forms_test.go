package openaimodel_test

import (
	"reflect"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
)

// TestForms: what servers and gateways send beside an answer, or in another form than OpenAI.
func TestForms(t *testing.T) {
	say := func(text string) string {
		return string(chunks(`{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}`))
	}
	delta := func(delta string) string {
		return string(chunks(`{"index":0,"delta":{` + delta + `},"finish_reason":null}`))
	}
	end := string(chunks(`{"index":0,"delta":{},"finish_reason":"stop"}`)) + "data: [DONE]\n\n"
	said := modeltest.Answer{Text: "so", Stop: model.StopEnd}
	thought := modeltest.Answer{Text: "so", Reasoning: "hm", Stop: model.StopEnd}
	counted := said
	counted.Usage = model.Usage{InputTokens: 1, OutputTokens: 2}
	for _, test := range []struct {
		name, body string
		want       modeltest.Answer
	}{
		{"an empty data line", say("s") + "data:\n\n" + say("o") + end, said},
		{"a word in brackets", say("s") + "data: [PING]\n\n" + say("o") + end, said},
		{"a keep-alive event", say("s") + "event: keepalive\ndata: keep-alive\n\n" + say("o") + end, said},
		{"comments", say("s") + ": OPENROUTER PROCESSING\n\n" + say("o") + end, said},
		{"a byte order mark", "\uFEFF" + say("s") + say("o") + end, said},
		{"content as parts", delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]`) +
			delta(`"content":[{"type":"text","text":"so"}]`) + end, thought},
		{"reasoning as an object", delta(`"reasoning":{"content":"hm"}`) + say("so") + end, thought},
		{"unknown reasoning", delta(`"reasoning":7`) + say("so") + end, said},
		{"usage as floats", say("so") + string(chunks(`{"index":0,"delta":{},"finish_reason":"stop"}`)) +
			`data: {"choices":[],"usage":{"prompt_tokens":1.0,"completion_tokens":"2"}}` + "\n\n", counted},
		{"unknown usage", say("so") + `data: {"choices":[],"usage":"none"}` + "\n\n" + end, said},
		{"an empty error", say("s") + `data: {"error":{},"choices":[{"index":0,"delta":{"content":"o"}}]}` + "\n\n" + end, said},
		{"one JSON document", `{"choices":[{"index":0,"message":{"role":"assistant","content":"so"},` + "\n" + `"finish_reason":"stop"}]}`, said},
		{"the whole message again", say("so") + `data: {"choices":[{"index":0,"message":{"content":"so"},"finish_reason":"stop"}]}` + "\n\n", said},
		{"numbers as texts", delta(`"tool_calls":[{"index":"0","id":7,"function":{"name":"a","arguments":"{}"}}]`) + end,
			modeltest.Answer{ToolCalls: []model.ToolCall{{ID: "7", Name: "a", Arguments: "{}"}}, Stop: model.StopToolCalls}},
		{"a call that is not in a list", delta(`"tool_calls":{"id":"7","function":{"name":"a","arguments":{}}}`) + end,
			modeltest.Answer{ToolCalls: []model.ToolCall{{ID: "7", Name: "a", Arguments: "{}"}}, Stop: model.StopToolCalls}},
	} {
		got, err := modeltest.Collect(over(&modeltest.Exchange{Body: []byte(test.body)}).Stream(t.Context(), modeltest.Ask("hello")))
		if err != nil || !reflect.DeepEqual(plain(got), test.want) {
			t.Errorf("%s: got %+v, %v, want %+v", test.name, got, err, test.want)
		}
	}
}

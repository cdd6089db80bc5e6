package event_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
)

// TestStrip: envelopes are removed whatever their form, and what is none is refused.
func TestStrip(t *testing.T) {
	const inner = `{"type":"x","a":"}"}`
	before, after := event.Path{{SessionID: "r"}, {SessionID: "c", AgentType: "explore"}, {SessionID: "g", AgentType: `a"\é`}}.Envelope()
	for _, tt := range []struct {
		raw   string
		depth int
		want  string // empty means an error
	}{
		{inner, 0, inner},
		{`{"type":"subagent_event","agentType":"explore","sessionId":"c","event":` + inner + `}`, 1, inner},
		{string(before) + inner + string(after), 2, inner},
		{`{"type":"subagent_event","agentType":"explore","sessionId":"c","event":{"type":"subagent_event","agentType":"","sessionId":"g","event":` + inner + `}}`, 2, inner},
		{`{"type":"subagent_event","agentType":"explore","sessionId":"c","event":` + inner + `,"more":{}}`, 1, inner},
		{`{"type":"subagent_event","agentType":"explore","sessionId":"c","event":` + inner + `,"more":{"event":1}}`, 1, inner},
		{`{"type":"subagent_event","agentType":"explore","sessionId":"c","event":` + inner + ` }`, 1, inner},
		{` {"event": ` + inner + ` , "type":"subagent_event"} `, 1, inner},
		{`{"type":"subagent_event","agentType":"explore","sessionId":"c","event":` + inner, 1, ""},
		{`{"type":"subagent_event","agentType":"explore","sessionId":"c","event":}`, 1, ""},
		{`{"type":"subagent_event","agentType":"explore","sessionId":"c","event":{"a":1}}}`, 1, ""},
		{inner, 1, ""},
		{`{"type":"subagent_event","agentType":"ex`, 1, ""},
		{"", 1, ""},
	} {
		got, err := event.Strip([]byte(tt.raw), tt.depth)
		if string(got) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s without %d envelopes: %s, %v, want %s", tt.raw, tt.depth, got, err, tt.want)
		}
	}
}

// FuzzStrip: whatever is stripped is what JSON has as the event.
func FuzzStrip(f *testing.F) {
	f.Add([]byte(`{"type":"subagent_event","agentType":"explore","sessionId":"c","event":{"type":"x"}}`))
	f.Add([]byte(`{"type":"subagent_event","agentType":"explore","sessionId":"c","event":{"type":"x"},"event":1}`))
	f.Add([]byte(`{"type":"subagent_event","agentType":"explore\u0041","sessionId":"c","event":[1, 2]}`))
	f.Add([]byte(`{"type":"subagent_event","agentType":"explore","sessionId":"c","event":null}`))
	f.Add([]byte(`{"type":"subagent_event","agentType":"","sessionId":"","event":{} }`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := event.Strip(raw, 1)
		var want event.SubagentEvent
		wantErr := json.Unmarshal(raw, &want)
		if (err == nil) != (wantErr == nil && want.Event != nil) || !bytes.Equal(got, want.Event) {
			t.Fatalf("%s, %v, want %s, %v", got, err, want.Event, wantErr)
		}
	})
}

func BenchmarkStrip(b *testing.B) {
	data, err := event.Encode(event.ContentDelta{MessageID: "msg_0123456789abcdef", Delta: "a few words of the answer, as a model streams them", Offset: 12345})
	if err != nil {
		b.Fatal(err)
	}
	before, after := event.Path{{SessionID: "r"}, {SessionID: "ses_fedcba9876543210", AgentType: "explore"}}.Envelope()
	raw := bytes.Join([][]byte{before, data, after}, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := event.Strip(raw, 1); err != nil {
			b.Fatal(err)
		}
	}
}

package endpoint_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentworker/worker/model/internal/endpoint"
)

type said struct{ Kind, Text string }

func saidIn(data []byte) (string, bool) {
	var s said
	err := json.Unmarshal(data, &s)
	return s.Text, err == nil && s.Kind == "says"
}

// TestRepeated: an event has the same text, whether it is read by the one before or as JSON.
func TestRepeated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inner := rapid.OneOf(
			rapid.Custom(func(t *rapid.T) string {
				quoted, _ := json.Marshal(rapid.String().Draw(t, "text")) // a string is JSON
				return string(quoted[1 : len(quoted)-1])
			}),
			rapid.StringMatching(`[a-z"\\/un0-9\x00-\x1f{}:,]{0,12}`),
			rapid.StringOfN(rapid.RuneFrom([]rune{'a', '"', '\\', 'u', 'd', '8', '0', '\uFFFD'}), 0, 14, -1),
			rapid.SampledFrom([]string{"\xff", "a\xc3", `\ud83d\ude00`, `\ud83d`, `", "kind": "other`, `","text":"b`, `\`, `\"`, `"`}),
		).Draw(t, "inner")
		var known endpoint.Repeated
		if !known.Learn([]byte(`{"kind":"says","text":"first","n":{"text":[]}}`), "first", saidIn) {
			t.Fatal("the first event is not learned")
		}
		data := []byte(fmt.Sprintf(`{"kind":"says","text":"%s","n":{"text":[]}}`, inner))
		if text, ok := known.Text(data); ok {
			if want, says := saidIn(data); !says || text != want {
				t.Fatalf("%q says %q, as JSON %q (%v)", data, text, want, says)
			}
		}
	})
}

// TestRepeatedOnlyIfAlike: an event that differs in more than the text, or is ambiguous, is read as JSON.
func TestRepeatedOnlyIfAlike(t *testing.T) {
	for _, test := range []struct {
		first, text, next string
		known             bool
	}{
		{`{"kind":"says","text":"a"}`, "a", `{"kind":"says","text":"b"}`, true},
		{`{"kind":"says","text":"a"}`, "a", `{"kind":"says","text":"line\n\"b\" \u00e9"}`, true},
		{`{"kind":"says","text":"a"}`, "a", `{"kind":"says","text":""}`, false},
		{`{"kind":"says","text":"a"}`, "a", `{"kind":"says","text":"b","more":1}`, false},
		{`{"kind":"says","text":"a"}`, "a", `{"kind":"says","text":"b","text":"c"}`, false},
		{`{"kind":"says","text":"a"}`, "a", `{"kind":"ends","text":"b"}`, false},
		{`{"kind":"says","text":"a"}`, "a", `{"kind":"says"`, false},
		{`{"kind":"says","text":"says"}`, "says", `{"kind":"ends","text":"says"}`, false},
		{`{"kind":"says","text":"\u0061"}`, "a", `{"kind":"says","text":"b"}`, false},
		{`{"kind":"says","text":"a","text":"a"}`, "a", `{"kind":"says","text":"b","text":"a"}`, false},
	} {
		var known endpoint.Repeated
		known.Learn([]byte(test.first), test.text, saidIn)
		want, _ := saidIn([]byte(test.next))
		if text, ok := known.Text([]byte(test.next)); ok != test.known || ok && text != want {
			t.Errorf("after %s: %s says %q, %v; want %q, %v", test.first, test.next, text, ok, want, test.known)
		}
	}
	var vain endpoint.Repeated
	reads := 0
	for range 100 {
		vain.Learn([]byte(`{"kind":"says","text":"a","n":1}`), "a", func([]byte) (string, bool) { reads++; return "", false })
	}
	if reads > 8 {
		t.Errorf("events were read %d times to learn from them, want at most 8", reads)
	}
}

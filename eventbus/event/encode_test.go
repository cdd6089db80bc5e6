package event_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
)

// FuzzDelta: deltas are encoded as encoding/json would, whatever bytes they have.
func FuzzDelta(f *testing.F) {
	for _, text := range []string{
		"", "a few words", `"quoted" \ and / <b>&</b>`, "\x00\x01\b\f\n\r\t\x1f\x7f", "é € 𝄞", "\u2028\u2029\ufffd",
		"\xff", "cut \xe2\x82", "\xc3(", "\xed\xa0\x80", "\xf4\x90\x80\x80",
	} {
		f.Add("msg_1", text, 7)
	}
	f.Fuzz(func(t *testing.T, id, text string, offset int) {
		for _, ev := range []event.Event{
			event.ContentDelta{MessageID: id, Delta: text, Offset: offset},
			event.ReasoningDelta{MessageID: id, Delta: text, Offset: offset},
		} {
			got, err := event.Encode(ev)
			if err != nil {
				t.Fatal(err)
			}
			var want bytes.Buffer
			enc := json.NewEncoder(&want)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(ev); err != nil {
				t.Fatal(err)
			}
			if want := `{"type":"` + ev.Type() + `",` + want.String()[1:]; string(got)+"\n" != want {
				t.Errorf("%q is encoded as\n%swant\n%s", text, got, want)
			}
			joined := event.AppendDelta(nil, ev.Type(), id, []byte(text), offset)
			if !bytes.Equal(joined, got) {
				t.Errorf("as bytes: %s, want %s", joined, got)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	var ev event.Event = event.ContentDelta{MessageID: "msg_0123456789abcdef", Delta: "a few words of the answer, as a model streams them", Offset: 12345}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = event.Append(buf[:0], ev)
	}
}

package termtext_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/iotest"

	"github.com/agentworker/worker/internal/termtext"
)

func TestJSON(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"{\n\t\"a\": \"plain é 日本 🎉\"\n}\n", "{\n\t\"a\": \"plain é 日本 🎉\"\n}\n"},
		{"\"c1 \u009b2J \u0085 del \x7f\"", `"c1 \u009b2J \u0085 del \u007f"`},
		{"\"\u202eback\u2066 \u200f \u2028 \ufeff\"", `"\u202eback\u2066 \u200f \u2028 \ufeff"`},
		{"\"raw \x9b2J\"", `"raw \ufffd2J"`},
		{`"\u001b[2J"`, `"\u001b[2J"`},
	} {
		var complete, pieces bytes.Buffer
		if _, err := termtext.JSON(&complete).Write([]byte(tt.in)); err != nil || complete.String() != tt.want {
			t.Errorf("JSON(%q) = %s, %v, want %s", tt.in, complete.String(), err, tt.want)
		}
		w, r := termtext.JSON(&pieces), iotest.OneByteReader(bytes.NewReader([]byte(tt.in)))
		for b := make([]byte, 1); ; {
			n, err := r.Read(b)
			if _, err := w.Write(b[:n]); err != nil {
				t.Fatal(err)
			}
			if err != nil {
				break
			}
		}
		if pieces.String() != tt.want {
			t.Errorf("JSON(%q) in pieces = %s, want %s", tt.in, pieces.String(), tt.want)
		}
	}
}

// FuzzJSON: what is written means the same.
func FuzzJSON(f *testing.F) {
	f.Add("a\u009b\u202e\x7f\x1b")
	f.Fuzz(func(t *testing.T, s string) {
		var plain bytes.Buffer
		enc := json.NewEncoder(&plain)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
		var shown bytes.Buffer
		if _, err := termtext.JSON(&shown).Write(plain.Bytes()); err != nil {
			t.Fatal(err)
		}
		var want, got string
		if err := json.Unmarshal(plain.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(shown.Bytes(), &got); err != nil || got != want {
			t.Errorf("%q is shown as %s: %v", s, shown.String(), err)
		}
		for _, r := range shown.String() {
			if r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e || r == 0x1b {
				t.Errorf("%q is shown as %q", s, shown.String())
			}
		}
	})
}

package termtext_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentworker/worker/internal/termtext"
)

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		in                string
		limit             int
		cut, bytes, first string
	}{
		{"", 4, "", "", ""},
		{"plain", 5, "plain", "plain", "plain"},
		{"longer", 5, "long…", "lo…", "longe"},
		{"äöüß", 4, "äöüß", "…", "äö"},
		{"äöüßx", 4, "äöü…", "…", "äö"},
		{"日本語", 5, "日本語", "…", "日"},
		{"日本語", 8, "日本語", "日…", "日本"},
		{"\x80\x80\x80\x80\x80", 4, "\x80\x80\x80…", "\x80…", "\x80\x80\x80\x80"},
	} {
		if got := termtext.Cut(tt.in, tt.limit); got != tt.cut {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.in, tt.limit, got, tt.cut)
		}
		if got := termtext.CutBytes(tt.in, tt.limit); got != tt.bytes {
			t.Errorf("CutBytes(%q, %d) = %q, want %q", tt.in, tt.limit, got, tt.bytes)
		}
		if got := termtext.Head(tt.in, tt.limit); got != tt.first {
			t.Errorf("Head(%q, %d) = %q, want %q", tt.in, tt.limit, got, tt.first)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("grüße", 4)
	f.Add("\xff日", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < len("…") {
			return
		}
		cut, bytes, head := termtext.Cut(s, limit), termtext.CutBytes(s, limit), termtext.Head(s, limit)
		if utf8.RuneCountInString(cut) > limit || len(bytes) > limit || len(head) > limit || !strings.HasPrefix(s, head) {
			t.Errorf("of %q and %d: %q, %q, %q", s, limit, cut, bytes, head)
		}
		if valid := utf8.ValidString(s); valid && !(utf8.ValidString(cut) && utf8.ValidString(bytes) && utf8.ValidString(head)) {
			t.Errorf("a character of %q is split: %q, %q, %q", s, cut, bytes, head)
		}
	})
}

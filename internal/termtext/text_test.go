package termtext_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentworker/worker/internal/termtext"
)

func TestOneLine(t *testing.T) {
	tests := []struct {
		in    string
		limit int
		want  string
	}{
		{"plain", 10, "plain"},
		{"two\nlines\there", 20, "two lines here"},
		{"red \x1b[31mtext\x1b[0m", 30, "red [31mtext[0m"},
		{"c1 \u009b31m bell\a back\b\r", 30, "c1 31m bell back"},
		{"abc\u202edef\u2066\u200f", 10, "abcdef"},
		{"grüße an alle", 6, "grüße…"},
		{"bad \xff utf8", 20, "bad \ufffd utf8"},
		{"", 5, ""},
	}
	for _, tt := range tests {
		if got := termtext.OneLine(tt.in, tt.limit); got != tt.want {
			t.Errorf("OneLine(%q, %d) = %q, want %q", tt.in, tt.limit, got, tt.want)
		}
	}
}

func FuzzOneLine(f *testing.F) {
	f.Add("a\x1b[0m\u202e", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 1 {
			return
		}
		got := termtext.OneLine(s, limit)
		if strings.ContainsAny(got, "\x1b\n\r\u202e") || utf8.RuneCountInString(got) > limit {
			t.Errorf("OneLine(%q, %d) = %q", s, limit, got)
		}
	})
}

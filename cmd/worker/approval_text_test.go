package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
		whole bool
	}{
		{"git push", 20, "git push", true},
		{"ls # x\nrm -rf y", 40, `ls # x\nrm -rf y`, true},
		{"a\tb\x1b[2Kc\rd", 40, `a\tb\u{1b}[2Kc\u{d}d`, true},
		{"cat \u202etxt.exe\u2066", 40, `cat \u{202e}txt.exe\u{2066}`, true},
		{"r\u200bm\u00a0x", 40, `r\u{200b}m\u{a0}x`, true},
		{"日本語 é", 40, "日本語 é", true},
		{"echo " + strings.Repeat("x", 100) + "; rm y", 30, "echo xxxxxxxxxxxxxxx …(81 characters)… xxxx; rm y", false},
	} {
		if got, whole := visible(c.in, c.limit); got != c.want || whole != c.whole {
			t.Errorf("visible(%q, %d) = %q, %v, want %q, %v", c.in, c.limit, got, whole, c.want, c.whole)
		}
	}
}

// The last of many texts, and the end of a long one, are shown.
func TestListShowsTheEnd(t *testing.T) {
	var texts []string
	for i := range 500 {
		texts = append(texts, fmt.Sprint("echo ", i))
	}
	for _, hides := range [][]string{append(texts, "rm x"), {strings.Repeat("a ", 10000) + "; rm x"}} {
		var out bytes.Buffer
		if list(&out, hides) {
			t.Errorf("%d texts are shown whole", len(hides))
		}
		if s := out.String(); !strings.Contains(s, "rm x\n") || !strings.Contains(s, "not all of it is shown") || len(s) > 8000 {
			t.Errorf("%d texts: %d bytes that end in %q", len(hides), len(s), s[max(0, len(s)-100):])
		}
	}
	var out bytes.Buffer
	if !list(&out, texts[:maxShownTexts]) || strings.Count(out.String(), "\n") != maxShownTexts {
		t.Errorf("%d texts are not shown whole:\n%s", maxShownTexts, out.String())
	}
}

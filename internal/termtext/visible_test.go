package termtext_test

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/internal/termtext"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct {
		in       string
		limit    int
		want     string
		complete bool
	}{
		{"git push", 20, "git push", true},
		{"ls # x\nrm -rf y", 40, `ls # x\nrm -rf y`, true},
		{"a\tb\x1b[2Kc\rd", 40, `a\tb\u{1b}[2Kc\u{d}d`, true},
		{"cat \u202etxt.exe\u2066", 40, `cat \u{202e}txt.exe\u{2066}`, true},
		{"r\u200bm\u00a0x", 40, `r\u{200b}m\u{a0}x`, true},
		{"rm\u3164\u2800\ufe0fx", 40, `rm\u{3164}\u{2800}\u{fe0f}x`, true},
		{"日本語 é", 40, "日本語 é", true},
		{"echo " + strings.Repeat("x", 100) + "; rm y", 30, "echo xxxxxxxxxxxxxxx …(81 characters)… xxxx; rm y", false},
	} {
		if got, complete := termtext.Visible(c.in, c.limit); got != c.want || complete != c.complete {
			t.Errorf("Visible(%q, %d) = %q, %v, want %q, %v", c.in, c.limit, got, complete, c.want, c.complete)
		}
	}
}

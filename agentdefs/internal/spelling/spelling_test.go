package spelling_test

import (
	"testing"

	"github.com/agentworker/worker/agentdefs/internal/spelling"
)

func TestCanonical(t *testing.T) {
	for name, want := range map[string]string{
		"disallowedTools": "disallowedtools", "Max_Turns": "maxturns", "mcp-servers": "mcpservers",
		"modèl": "model", "\uFEFFname": "name", "to\u200Bols": "tools", "a b": "ab",
	} {
		if got := spelling.Canonical(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"tools", "tools", 0}, {"tool", "tools", 1}, {"toools", "tools", 1}, {"tolls", "tools", 1}, {"otols", "tools", 1},
		{"tolos", "tools", 1}, {"tl", "tools", 3}, {"model", "tools", 3}, {"", "ab", 2}, {"abcdef", "", 3},
	} {
		if got := spelling.Distance(tt.a, tt.b, 3); got != tt.want {
			t.Errorf("%q, %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := spelling.OneOff(tt.a, tt.b); got != (tt.want == 1) {
			t.Errorf("%q, %q: one off is %v", tt.a, tt.b, got)
		}
	}
}

func TestLooksLike(t *testing.T) {
	for name, want := range map[string]bool{
		"tооls": true, // two Cyrillic letters of five
		"tооlѕ": false,
		"tools": false, // it is that name
		"tоol":  false,
		"tоalѕ": false,
	} {
		if got := spelling.LooksLike([]rune(name), "tools"); got != want {
			t.Errorf("%+q: %v, want %v", name, got, want)
		}
	}
}

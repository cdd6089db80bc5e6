package definition

import (
	"testing"

	"github.com/agentworker/worker/agentdefs/internal/diag"
)

// TestFenceLine holds that the diagnostic names the line of the file.
func TestFenceLine(t *testing.T) {
	for file, want := range map[string]int{
		"---\ndescription: x\n---\n```\ncode\n":              4,
		"---\ndescription: x\n---\n\n\nText.\n\n```\ncode\n": 8,
		"\n---\ndescription: x\n---\nText.\n~~~\n":           6,
		"---\ndescription: x\n# Text\n```\n":                 4,
		"---\ndescription: x\n---\n```\ncode\n```\n":         0,
	} {
		got := 0
		for _, d := range Parse("a.md", []byte(file), Options{}).Diagnostics {
			if d.Code == diag.BodyFenceUnclosed {
				got = d.Line
			}
		}
		if got != want {
			t.Errorf("%q: line %d, want %d", file, got, want)
		}
	}
}

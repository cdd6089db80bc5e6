package tracecontext

import (
	"regexp"
	"strings"
	"testing"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// known is the standard's grammar, in another way.
var known = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)`)

func wanted(s string) string {
	m := known.FindStringSubmatch(s)
	if m == nil || m[1] == "ff" || m[1] == "00" && len(s) != len(parent) || m[2] == strings.Repeat("0", 32) || m[3] == strings.Repeat("0", 16) {
		return ""
	}
	return s[:len(parent)]
}

func FuzzParent(f *testing.F) {
	for _, s := range []string{
		parent, "", parent[:54], parent + "-", parent + "x", "01" + parent[2:] + "-more", "01" + parent[2:] + ".", "ff" + parent[2:],
		strings.ToUpper(parent), "00-" + strings.Repeat("0", 32) + parent[35:], parent[:36] + strings.Repeat("0", 16) + "-01",
		parent + "\n", " " + parent, "0é-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := Parent(s), wanted(s); got != want {
			t.Fatalf("%q: %q, want %q", s, got, want)
		}
	})
}

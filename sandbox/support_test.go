package sandbox_test

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/sandbox"
)

// TestOpen holds that what a system can't hold is said in words that a person acts on.
func TestOpen(t *testing.T) {
	whole := sandbox.Support{System: "linux", Architecture: true, Namespaces: true, Landlock: 6, Supervisor: true}
	for name, row := range map[string]struct {
		change func(*sandbox.Support)
		want   string // "" means that all is held
	}{
		"all of it":             {func(*sandbox.Support) {}, ""},
		"an old kernel":         {func(s *sandbox.Support) { s.Supervisor = false }, "before Linux 5.19"},
		"no Landlock":           {func(s *sandbox.Support) { s.Landlock = 0 }, "lsm=landlock"},
		"an old Landlock":       {func(s *sandbox.Support) { s.Landlock = 2 }, "Linux 6.2"},
		"Landlock alone":        {func(s *sandbox.Support) { s.Namespaces, s.NoNamespaces = false, "userns is 0" }, "allow unprivileged user namespaces (userns is 0)"},
		"an old Landlock alone": {func(s *sandbox.Support) { s.Namespaces, s.Landlock = false, 4 }, "signals"},
		"neither":               {func(s *sandbox.Support) { s.Namespaces, s.Landlock, s.NoNamespaces = false, 0, "userns is 0" }, "userns is 0"},
		"a Mac":                 {func(s *sandbox.Support) { *s = sandbox.Support{System: "darwin"} }, "sandbox-exec"},
		"Windows":               {func(s *sandbox.Support) { *s = sandbox.Support{System: "windows"} }, "no sandbox for windows"},
	} {
		s := whole
		row.change(&s)
		if open := strings.Join(s.Open(), "; "); (open == "") != (row.want == "") || !strings.Contains(open, row.want) {
			t.Errorf("%s: %q, want %q", name, open, row.want)
		}
	}
}

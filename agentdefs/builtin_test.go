package agentdefs_test

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs"
)

// TestBuiltinTools: the built-in agents speak of the tools that there are, and
// of no others.
func TestBuiltinTools(t *testing.T) {
	own := []string{"read_file", "grep", "shell_exec"}
	for _, test := range []struct {
		agent string
		tools []string
		want  string // of the tools; empty means nothing
		web   bool
	}{
		{"explore", nil, "", false},
		{"explore", own, "read_file, grep.", false},
		{"explore", append(own, "web_fetch"), "read_file, grep, web_fetch.", true},
		{"general", own, "read_file, grep, shell_exec.", false},
	} {
		snapshot, err := agentdefs.Load(t.TempDir(), &agentdefs.Options{Tools: test.tools})
		if err != nil {
			t.Fatal(err)
		}
		d, _ := snapshot.Resolve(test.agent)
		for _, text := range []string{d.Description, d.Prompt} {
			_, told, _ := strings.Cut(strings.TrimSpace(text), "here: ")
			if told != test.want {
				t.Errorf("%s with the tools %q tells of %q, want %q", test.agent, test.tools, told, test.want)
			}
		}
		if strings.Contains(d.Description+d.Prompt, "web") != test.web || strings.Contains(d.Description+d.Prompt, "{{") {
			t.Errorf("%s with the tools %q: %q", test.agent, test.tools, d.Description)
		}
	}
}

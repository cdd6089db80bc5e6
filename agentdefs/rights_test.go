package agentdefs_test

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs"
)

func TestRightsChange(t *testing.T) {
	const reader = "---\nname: helper\ndescription: d\npermission:\n  \"*\": deny\n  read_file: allow\n---\nRead."
	wide := strings.Replace(reader, "read_file: allow", "shell_exec: allow", 1)
	for _, c := range []struct{ name, before, after, want string }{
		{"wider", reader, wide, `the rules of helper change: - read_file: {"*": allow}; + shell_exec: {"*": allow}`},
		{"the prompt alone", reader, reader + " Slowly.", "the rules of helper stay as they are"},
		{"the order", reader, strings.Replace(reader, "  \"*\": deny\n  read_file: allow", "  read_file: allow\n  \"*\": deny", 1), "change their order"},
		{"a new file", "", wide, `a new agent, helper, with the rules *: {"*": deny}; shell_exec: {"*": allow}`},
		{"no rules", "", "---\nname: free\ndescription: d\n---\nDo.", "a new agent, free, with the rules"},
		{"another name", reader, strings.Replace(reader, "helper", "other", 1), "it was helper"},
		{"no longer an agent", reader, "text", "the agent helper is gone"},
		{"never one", "", "text", "it makes no agent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before []byte
			if c.before != "" {
				before = []byte(c.before)
			}
			got := agentdefs.RightsChange(".agents/agents/helper.md", before, []byte(c.after), "")
			if !strings.Contains(got, c.want) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

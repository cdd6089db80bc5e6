package tool_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// TestAgentFiles: a call that writes an agent file asks a person, and says how the
// agent's rights change.
func TestAgentFiles(t *testing.T) {
	p := newPlace(t, &tool.Options{AgentFiles: tool.AgentFiles{
		Folders: []string{".agents/agents"},
		Change: func(file string, before, after []byte) string {
			return fmt.Sprintf("%s: %q becomes %q", file, before, after)
		},
	}}, map[string]string{".agents/agents/a.md": "old rights", "link": "-> .agents/agents"})
	for _, c := range []struct {
		tool string
		args args
		why  string // empty means nobody is asked
	}{
		{"write_file", args{"path": ".agents/agents/a.md", "content": "new"}, `.agents/agents/a.md: "old rights" becomes "new"`},
		{"write_file", args{"path": ".agents/agents/b.md", "content": "new"}, `.agents/agents/b.md: "" becomes "new"`},
		{"write_file", args{"path": "link/a.md", "content": "new"}, `.agents/agents/a.md: "old rights" becomes "new"`},
		{"write_file", args{"path": ".AGENTS/Agents/a.md", "content": "new"}, "a file of agents"},
		{"edit_file", args{"path": ".agents/agents/a.md", "oldText": "old", "newText": "all"}, `"old rights" becomes "all rights"`},
		{"shell_exec", args{"command": "echo new > .agents/agents/a.md"}, "a file of agents"},
		{"write_file", args{"path": ".agents/notes.md", "content": "new"}, ""},
		{"read_file", args{"path": ".agents/agents/a.md"}, ""},
	} {
		raw, err := json.Marshal(c.args)
		if err != nil {
			t.Fatal(err)
		}
		values, err := p.tools[c.tool].Values(raw)
		if err != nil {
			t.Fatal(err)
		}
		d := allowAll.Decide(values)
		if c.why == "" {
			if d.Action != permission.Allow {
				t.Errorf("%s %v: %v: %s", c.tool, c.args, d.Action, d.Reason())
			}
			continue
		}
		if d.Action != permission.Ask || !strings.Contains(d.Reason(), c.why) {
			t.Errorf("%s %v: %v: %s\nwant it asked, with %s", c.tool, c.args, d.Action, d.Reason(), c.why)
		}
	}
}

package permission_test

import (
	"testing"

	"github.com/agentworker/worker/permission"
)

// TestMCPNames has rules about the tools of MCP servers in each way in which programs
// write them.
func TestMCPNames(t *testing.T) {
	const tool = "mcp__github__create_issue"
	for _, c := range []struct {
		rule, tool string
		action     permission.Action
		want       permission.Action
	}{
		{"mcp__github__create_issue", tool, permission.Allow, permission.Allow},
		{"mcp__github__*", tool, permission.Deny, permission.Deny},
		{"mcp__*", tool, permission.Deny, permission.Deny},
		{"mcp_github_create_issue", tool, permission.Deny, permission.Deny},
		{"mcp:github:create_issue", tool, permission.Deny, permission.Deny},
		{"github/create_issue", tool, permission.Allow, permission.Allow},
		{"github/*", tool, permission.Deny, permission.Deny},
		{"@github/*", tool, permission.Deny, permission.Deny},
		{"github_create_issue", tool, permission.Allow, permission.Allow},
		{"github_*", tool, permission.Deny, permission.Deny},
		{"mcp__git__*", tool, permission.Allow, permission.Ask},
		{"mcp__gitlab__*", tool, permission.Deny, permission.Ask},
		// A server can't take the name of a built-in tool.
		{"read_file", "mcp__read__file", permission.Allow, permission.Ask},
		{"shell_exec", "mcp__shell__exec", permission.Allow, permission.Ask},
		// What says which tools it does not mean lets none of them in by another name.
		{"!(mcp__github__*)", tool, permission.Allow, permission.Ask},
		{"!(github_*)", tool, permission.Allow, permission.Ask},
		{"!(mcp__gitlab__*)", tool, permission.Allow, permission.Allow},
		{"!(read_file|grep)", tool, permission.Deny, permission.Deny},
		{"[!x]*", tool, permission.Deny, permission.Deny},
	} {
		rules := permission.MustRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Ask}, permission.Rule{Tool: c.rule, Pattern: "*", Action: c.action})
		layers := permission.Layers{Static: rules}
		if got := layers.Decide([]permission.Value{{Tool: c.tool, Text: "{}"}}); got.Action != c.want {
			t.Errorf("%s: %v of %s: %v, want %v", c.rule, c.action, c.tool, got.Action, c.want)
		}
	}
}

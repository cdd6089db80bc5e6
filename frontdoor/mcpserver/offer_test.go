package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentworker/worker/frontdoor/mcpserver"
)

// TestOffer: the task tool is described to each host in its own way. It says that calls run
// side by side only to a host that does so, and has no enum for one that would refuse other
// names.
func TestOffer(t *testing.T) {
	const reader = "---\ndescription: Reads.\naliases: [lector]\npermission: {\"*\": deny, read_file: allow}\n---\n"
	const ghost = "---\ndescription: Is not listed.\nhidden: true\n---\n"
	for _, tt := range []struct {
		client   string
		readOnly bool
		abreast  bool
		enum     bool
	}{
		{"opencode", false, true, true},
		{"claude-code", false, false, true},
		{"claude-code", true, true, true},
		{"codex-mcp-client", false, false, true},
		{"codex-mcp-client", true, true, true},
		{"gemini-cli-mcp-client", false, true, false},
		{"qwen-cli-mcp-client-worker", false, false, false},
		{"qwen-cli-mcp-client-worker", true, true, false},
		{"github-copilot-developer", false, true, true},
		{"Cline", true, false, true},
		{"continue-cli-client", false, true, true},
		{"somebody", true, false, true},
	} {
		for _, version := range generations {
			name := version + " " + tt.client
			e := setup{
				model:   modelFunc(echo),
				files:   map[string]string{"reader.md": reader, "ghost.md": ghost},
				options: mcpserver.Options{ReadOnly: tt.readOnly},
			}.open(t)
			host := e.connectAs(t, tt.client, version, nil)
			list, err := host.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			tools := make(map[string]string)
			for _, tool := range list.Tools {
				schema, err := json.Marshal(tool.InputSchema)
				if err != nil {
					t.Fatal(err)
				}
				tools[tool.Name] = tool.Description + "\n" + string(schema)
			}
			if said := strings.Contains(tools["task"], "side by side"); said != tt.abreast {
				t.Errorf("%s, read-only %v: the text of task says \"side by side\" %v, want %v", name, tt.readOnly, said, tt.abreast)
			}
			if said := strings.Contains(host.InitializeResult().Instructions, "side by side"); said != tt.abreast {
				t.Errorf("%s, read-only %v: the instructions say \"side by side\" %v, want %v", name, tt.readOnly, said, tt.abreast)
			}
			if has := strings.Contains(tools["task"], `"enum":["explore","general","reader"]`); has != tt.enum || strings.Contains(tools["task"], `"enum"`) != tt.enum {
				t.Errorf("%s: %s, want an enum %v", name, tools["task"], tt.enum)
			}
			for _, agent := range []string{"reader", "lector", "Reader", "ghost"} {
				if res := callTool(t, host, "task", call(agent, "q").Arguments); res.IsError {
					t.Errorf("%s: %s: %q", name, agent, text(t, res))
				}
			}
		}
	}
}

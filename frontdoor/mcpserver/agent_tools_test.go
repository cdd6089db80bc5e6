package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver"
)

// TestToolPerAgent: each agent has a tool, which says whether it only reads; the tools
// follow the files.
func TestToolPerAgent(t *testing.T) {
	const reads = "---\ndescription: Reads.\npermission: {\"*\": deny, read_file: allow}\n---\n"
	e := setup{
		model:   modelFunc(echo),
		files:   map[string]string{"reader.md": reads, "ghost.md": "---\ndescription: Is not listed.\nhidden: true\n---\n"},
		options: mcpserver.Options{ToolPerAgent: true},
	}.open(t)
	told := make(chan struct{}, 100)
	host := e.connect(t, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} },
	})
	list := func() map[string]*mcp.Tool {
		t.Helper()
		res, err := host.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		tools := make(map[string]*mcp.Tool)
		for _, tool := range res.Tools {
			tools[tool.Name] = tool
		}
		return tools
	}
	tools := list()
	for name, readOnly := range map[string]bool{"agent_reader": true, "agent_explore": true, "agent_general": false} {
		tool := tools[name]
		if tool == nil || tool.Annotations.ReadOnlyHint != readOnly || *tool.Annotations.DestructiveHint {
			t.Fatalf("%s: %+v, want one with readOnlyHint %v", name, tool, readOnly)
		}
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil || strings.Contains(string(schema), "agentType") || !strings.Contains(string(schema), `"required":["description","prompt"]`) {
			t.Errorf("%s: %s, %v", name, schema, err)
		}
	}
	if tools["agent_ghost"] != nil || tools["task"] == nil || tools["task"].Annotations.ReadOnlyHint {
		t.Errorf("the tools: %v", tools)
	}

	if got := text(t, callTool(t, host, "agent_reader", map[string]any{"description": "d", "prompt": "p"})); !strings.Contains(got, `agent="reader"`) || !strings.Contains(got, "answer to p") {
		t.Errorf("the call: %s", got)
	}
	if res := callTool(t, host, "agent_reader", map[string]any{"description": "d", "prompt": "p", "agentType": "general"}); !res.IsError || !strings.Contains(text(t, res), `this tool calls the agent "reader"`) {
		t.Errorf("for another agent: %s", text(t, res))
	}

	for _, change := range []struct {
		permission string
		readOnly   bool
	}{{"allow", false}, {`{"*": deny, read_file: allow}`, true}} {
		path := filepath.Join(e.dir, "reader.md")
		content := "---\ndescription: Reads.\npermission: " + change.permission + "\n---\n"
		if err := errors.Join(os.WriteFile(path+".new", []byte(content), 0o644), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
		<-told
		if got := list()["agent_reader"].Annotations.ReadOnlyHint; got != change.readOnly {
			t.Errorf("with the permission %s: readOnlyHint %v", change.permission, got)
		}
	}
	if err := os.Remove(filepath.Join(e.dir, "reader.md")); err != nil {
		t.Fatal(err)
	}
	<-told
	if list()["agent_reader"] != nil {
		t.Error("its file is gone, and the tool is there")
	}
	if _, err := host.CallTool(t.Context(), &mcp.CallToolParams{Name: "agent_reader", Arguments: map[string]any{"description": "d", "prompt": "p"}}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("a call of a tool that is gone: %v", err)
	}

	r := e.raw(t.Context(), t)
	if got, _ := r.ask(1, "tools/call", `"name":"agent_general","arguments":{"description":"d","prompt":"p"},`+taskMeta); got.Result.ResultType != "task" {
		t.Errorf("of a client that takes tasks: %+v", got)
	}
	r.close()
}

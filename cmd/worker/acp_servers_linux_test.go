package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/tool/mcpclient/mcptest"
)

// serversScript: a primary agent and its subagent call the servers that an editor brings.
const serversScript = `{"match": {"user": "go"}, "toolCalls": [
  {"name": "mcp__mine__environment", "arguments": {"text": "SAYS"}}, {"name": "mcp__remote__echo", "arguments": {"text": "from afar"}},
  {"name": "mcp__mine__fetch", "arguments": {"text": "http://packages.example.com:1/"}},
  {"name": "task", "arguments": {"description": "d", "prompt": "look it up", "agentType": "general"}}]}
{"match": {"user": "look it up"}, "toolCalls": [{"name": "mcp__mine__echo", "arguments": {"text": "below"}}]}
{"match": {"user": "look it up", "result": "below"}, "text": "It is below."}
{"match": {"user": "go", "result": "It is below"}, "text": "All of them answered."}
{"match": {"user": "go"}, "text": "Something is missing.", "repeat": true}
{"match": {"user": "other"}, "toolCalls": [{"name": "mcp__mine__echo", "arguments": {"text": "x"}}]}
{"match": {"result": "there is no tool"}, "text": "They are not here."}
`

// TestEditorsServers: the MCP servers that an editor brings for a session are there for it and its
// subagents, in a sandbox, and for no other session.
func TestEditorsServers(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "ws")
	script := filepath.Join(base, "script.jsonl")
	for _, err := range []error{os.MkdirAll(filepath.Join(dir, ".git"), 0o755), os.WriteFile(script, []byte(serversScript), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	afar := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		if r.Header.Get("X-Mine") != "${HOME}" { // a text of the editor has no variables
			return nil
		}
		return mcptest.New()
	}, nil))
	t.Cleanup(afar.Close)
	server, err := exec.LookPath("mcpserver")
	if err != nil {
		t.Fatal(err)
	}
	d := &doors{dir: dir, flags: []string{"--dir", dir, "--state-dir", filepath.Join(base, "state"), "--model", "replay/" + script}}
	e := d.edit(t, func() string { return "allow_once" })
	brought := []acp.McpServer{
		{Stdio: &acp.McpServerStdio{Name: "Mine", Command: server, Args: []string{}, Env: []acp.EnvVariable{{Name: "SAYS", Value: "a $HOME ${X} value"}}}},
		{Http: &acp.McpServerHttpInline{Name: "remote", Type: "http", Url: afar.URL, Headers: []acp.HttpHeader{{Name: "X-Mine", Value: "${HOME}"}}}},
	}
	opened, err := e.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir, McpServers: brought})
	if err != nil {
		t.Fatal(err)
	}
	shown := func(id acp.SessionId, prompt string) string {
		if _, err := e.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock(prompt)}}); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for len(e.updates) > 0 {
			u := <-e.updates
			if u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil {
				b.WriteString(u.AgentMessageChunk.Content.Text.Text)
			}
			if u.ToolCallUpdate != nil {
				for _, c := range u.ToolCallUpdate.Content {
					if c.Content != nil && c.Content.Content.Text != nil {
						b.WriteString(c.Content.Content.Text.Text + "\n")
					}
				}
			}
		}
		return b.String()
	}
	text := shown(opened.SessionId, "go")
	for _, part := range []string{"SAYS=a $HOME ${X} value", "from afar", "below", "All of them answered.", "may not reach packages.example.com"} {
		if !strings.Contains(text, part) {
			t.Errorf("the session lacks %q:\n%s", part, text)
		}
	}
	if text := shown(e.begin(t, dir), "other"); !strings.Contains(text, "They are not here.") {
		t.Errorf("another session: %s", text)
	}
}

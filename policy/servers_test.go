package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/policy"
	"github.com/agentworker/worker/policy/policytest"
)

func TestServers(t *testing.T) {
	allowed := `{"allowedMcpServers": [{"serverName": "github"}, {"serverCommand": ["npx", "-y", "x"]}, {"serverUrl": "https://*.example.com/*"}], "deniedMcpServers": [{"serverUrl": "https://bad.example.com/*"}]}`
	for _, c := range []struct {
		text, name, argv, url, want string
	}{
		{allowed, "GitHub", "anything", "", ""},
		{allowed, "x", "npx -y x", "", ""},
		{allowed, "x", "npx -y x --more", "", "allowedMcpServers"},
		{allowed, "x", "", "https://mcp.example.com/mcp", ""},
		{allowed, "x", "", "https://mcp.example.org/mcp", "allowedMcpServers"},
		{allowed, "x", "", "https://bad.example.com/mcp", "deniedMcpServers"},
		{allowed, "github", "", "https://bad.example.com/mcp", "deniedMcpServers"},
		{`{"allowedMcpServers": []}`, "x", "y", "", "allowedMcpServers"},
		{`{"deniedMcpServers": [{"serverName": "x"}]}`, "y", "z", "", ""},
		{`{}`, "y", "z", "", ""},
	} {
		above, _ := policytest.Open(t, c.text)
		now, err := above.Current()
		if err != nil {
			t.Fatal(err)
		}
		var argv []string
		if c.argv != "" {
			argv = strings.Fields(c.argv)
		}
		got := ""
		if err := now.AllowsServer(c.name, argv, c.url); err != nil {
			got = err.Error()
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s %s%s: %q, want %q", c.text, c.name, c.argv, c.url, got, c.want)
		}
	}
	above, _ := policytest.Open(t, `{"allowedLspServers": [{"serverCommand": ["gopls"]}, {"serverName": "zig"}], "deniedLspServers": [{"serverName": "zig"}]}`)
	now, err := above.Current()
	if err != nil {
		t.Fatal(err)
	}
	if err := now.AllowsLanguageServer("gopls", []string{"gopls"}); err != nil {
		t.Error(err)
	}
	if err := now.AllowsLanguageServer("zig", []string{"zls"}); err == nil || !strings.Contains(err.Error(), "deniedLspServers") {
		t.Error(err)
	}
	if err := now.AllowsLanguageServer("typescript", []string{"x"}); err == nil || !strings.Contains(err.Error(), "allowedLspServers") {
		t.Error(err)
	}
	if err := now.AllowsServer("typescript", []string{"x"}, ""); err != nil {
		t.Error("a list of language servers is about MCP servers, too:", err)
	}
	if lines := strings.Join(now.Narrows(), "\n"); !strings.Contains(lines, "language servers allowed: gopls, zig (") {
		t.Error(lines)
	}
	for _, text := range []string{`{"allowedLspServers": [{"serverUrl": "https://x"}]}`, `{"allowedMcpServers": {}}`, `{"allowedMcpServers": ["x"]}`, `{"allowedMcpServers": [{}]}`, `{"allowedMcpServers": [{"serverName": ""}]}`,
		`{"allowedMcpServers": [{"serverName": "x", "serverUrl": "y"}]}`, `{"deniedMcpServers": [{"serverCommand": "npx x"}]}`, `{"deniedMcpServers": [{"serverCommand": []}]}`, `{"deniedMcpServers": [{"server": "x"}]}`} {
		dir := t.TempDir()
		file := filepath.Join(dir, "policy.jsonc")
		if err := errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
			t.Fatal(err)
		}
		if _, err := policy.Open(file); err == nil || !strings.Contains(err.Error(), "policy.jsonc:1") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

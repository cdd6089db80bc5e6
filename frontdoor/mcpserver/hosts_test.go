package mcpserver

import (
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestHosts(t *testing.T) {
	for _, tt := range []struct {
		client           string
		progress, silent time.Duration // patience with and without a progress token
		text             size
	}{
		{"opencode", 0, 50 * time.Second, size{50_000, utf8Bytes}},
		{"claude-code", 0, 0, size{max: 500_000}},
		{"codex-mcp-client", 270 * time.Second, 270 * time.Second, size{11_500, utf8Bytes}},
		{"gemini-cli-mcp-client", 540 * time.Second, 540 * time.Second, size{max: 39_000}},
		{"qwen-cli-mcp-client-worker", 540 * time.Second, 270 * time.Second, size{max: 24_000}},
		{"github-copilot-developer", 0, 162 * time.Second, size{20_000, utf8Bytes}},
		{" Cline ", 50 * time.Second, 50 * time.Second, size{7_500, jsonUnits}},
		{"@cline/core", 50 * time.Second, 50 * time.Second, size{7_500, jsonUnits}},
		{"continue-cli-client", 50 * time.Second, 50 * time.Second, size{max: 100_000}},
		{"somebody", 0, 0, size{7_500, jsonUnits}},
		{"", 0, 0, size{7_500, jsonUnits}},
	} {
		h := New(Options{}).host(&mcp.Implementation{Name: tt.client})
		if h.patience(true) != tt.progress || h.patience(false) != tt.silent || h.text != tt.text {
			t.Errorf("%q: %s with progress, %s without, text %v; want %s, %s, %v", tt.client, h.patience(true), h.patience(false), h.text, tt.progress, tt.silent, tt.text)
		}
	}
	if h := New(Options{}).host(nil); h.text != unknownHost.text {
		t.Errorf("no client: %+v", h)
	}
	// What is configured holds for every host.
	h := New(Options{CallLimit: time.Hour, ResultLimit: 5000}).host(&mcp.Implementation{Name: "codex-mcp-client"})
	if h.patience(false) != 54*time.Minute || h.text != (size{max: 5000}) {
		t.Errorf("configured: %s, %v", h.patience(false), h.text)
	}
}

package hosts

import (
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestHosts(t *testing.T) {
	for _, tt := range []struct {
		client           string
		progress, silent time.Duration // patience with and without a progress token
		text             Size
	}{
		{"opencode", 0, 50 * time.Second, Size{50_000, UTF8Bytes}},
		{"claude-code", 0, 0, Size{Max: 500_000}},
		{"codex-mcp-client", 270 * time.Second, 270 * time.Second, Size{11_500, UTF8Bytes}},
		{"gemini-cli-mcp-client", 540 * time.Second, 540 * time.Second, Size{Max: 39_000}},
		{"qwen-cli-mcp-client-worker", 540 * time.Second, 270 * time.Second, Size{Max: 24_000}},
		{"github-copilot-developer", 0, 162 * time.Second, Size{20_000, UTF8Bytes}},
		{" Cline ", 50 * time.Second, 50 * time.Second, Size{7_500, JSONUnits}},
		{"@cline/core", 50 * time.Second, 50 * time.Second, Size{7_500, JSONUnits}},
		{"continue-cli-client", 50 * time.Second, 50 * time.Second, Size{Max: 100_000}},
		{"somebody", 0, 0, Size{7_500, JSONUnits}},
		{"", 0, 0, Size{7_500, JSONUnits}},
	} {
		h := Of(&mcp.Implementation{Name: tt.client})
		if h.Patience(true) != tt.progress || h.Patience(false) != tt.silent || h.Text != tt.text {
			t.Errorf("%q: %s with progress, %s without, text %v; want %s, %s, %v", tt.client, h.Patience(true), h.Patience(false), h.Text, tt.progress, tt.silent, tt.text)
		}
	}
	if h := Of(nil); h.Text != Unknown.Text {
		t.Errorf("no client: %+v", h)
	}
}

package mcpserver

import (
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
)

// TestConfiguredHost: what is configured holds for every host.
func TestConfiguredHost(t *testing.T) {
	h := New(Options{CallLimit: time.Hour, ResultLimit: 5000}).host(&mcp.Implementation{Name: "codex-mcp-client"})
	if h.Patience(false) != 54*time.Minute || h.Text != (hosts.Size{Max: 5000}) {
		t.Errorf("configured: %s, %v", h.Patience(false), h.Text)
	}
}

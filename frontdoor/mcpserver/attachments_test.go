package mcpserver_test

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/model/modeltest"
)

// TestAttachments: the pictures of a call get to the model, and what is none is refused in words
// that the host's model reads.
func TestAttachments(t *testing.T) {
	host := newEnv(t, modeltest.Func(doortest.Looking), 0, nil).connect(t, nil)
	args := func(attachments ...string) *mcp.CallToolParams {
		return &mcp.CallToolParams{Name: "task", Arguments: map[string]any{"description": "d", "prompt": "look", "agentType": "explore", "attachments": attachments}}
	}
	for _, a := range append(doortest.Attachments(t), doortest.Attachment{Name: "photo.jpg", MediaType: "image/jpeg", Data: make([]byte, 8<<20), Says: "write long material to a file", Refused: true}) {
		res, err := host.CallTool(t.Context(), args(a.URL()))
		if err != nil {
			t.Fatal(err)
		}
		if said := text(t, res); res.IsError != a.Refused || !strings.Contains(said, a.Says) {
			t.Errorf("%s: %v %.300s, want %q", a.Name, res.IsError, said, a.Says)
		}
	}
	if res, err := host.CallTool(t.Context(), args("none.png")); err != nil || !res.IsError || !strings.Contains(text(t, res), "the attachment none.png can't be read: ") {
		t.Errorf("%+v, %v", res, err)
	}
}

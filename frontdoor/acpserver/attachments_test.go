package acpserver_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/frontdoor/acpserver"
	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/model/modeltest"
)

// TestAttachments: the pictures of a prompt get to the model, and what is none is refused in clear
// words.
func TestAttachments(t *testing.T) {
	c := newEnv(t, modeltest.Func(doortest.Looking)).editor(acpserver.Options{})
	id := c.begin()
	for _, a := range doortest.Attachments(t) {
		block := acp.ImageBlock(base64.StdEncoding.EncodeToString(a.Data), a.MediaType)
		block.Image.Uri = acp.Ptr("file:///pictures/" + a.Name)
		_, err := c.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{block, acp.TextBlock("look at " + a.Name)}})
		switch {
		case !a.Refused && err == nil:
			c.sees(a.Says)
		case !a.Refused || err == nil || !strings.Contains(err.Error(), "block 1: ") || !strings.Contains(err.Error(), a.Says):
			t.Errorf("%s: %v, want %q", a.Name, err, a.Says)
		}
	}
	large := acp.ImageBlock(strings.Repeat("A", 12<<20), "image/jpeg")
	if _, err := c.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{large}}); err == nil || !strings.Contains(err.Error(), "a message may have 10 MB") {
		t.Errorf("a large one: %v", err)
	}
}

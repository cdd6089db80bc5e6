package natsservice_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/micro"

	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/frontdoor/natsservice"
)

// TestAttachments: the pictures of a call get to the model, and what is none is refused in clear
// words.
func TestAttachments(t *testing.T) {
	e := newEnv(t, doortest.Looking, natsservice.Options{})
	for _, a := range doortest.Attachments(t) {
		body, err := json.Marshal(map[string]any{"description": "d", "prompt": "look", "agentType": "explore", "attachments": []string{a.URL()}})
		if err != nil {
			t.Fatal(err)
		}
		msg := e.request(taskSubject, string(body), nil)
		code := msg.Header.Get(micro.ErrorCodeHeader)
		if said := string(msg.Data) + msg.Header.Get(micro.ErrorHeader); (code == "400") != a.Refused || !strings.Contains(said, a.Says) {
			t.Errorf("%s: %s %s, want %q", a.Name, code, said, a.Says)
		}
	}
}

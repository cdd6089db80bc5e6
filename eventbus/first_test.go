package eventbus_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
)

// TestPublishFirst: of two processes that say it, one is heard, and its event has an id
// of the documented form.
func TestPublishFirst(t *testing.T) {
	url := natstest.Start(t, server.Options{}).ClientURL()
	path := event.Path{{SessionID: "ses_once"}}
	for _, agent := range []string{"first", "second"} {
		if err := publisher(t, openURL(t, url), path).PublishFirst(t.Context(), event.SessionStart{AgentType: agent}); err != nil {
			t.Fatal(err)
		}
	}
	stream, err := natstest.JetStream(t, url).Stream(t.Context(), eventbus.Stream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context())
	if err != nil || info.State.Msgs != 1 {
		t.Fatalf("%d messages, want 1, %v", info.State.Msgs, err)
	}
	m, err := stream.GetMsg(t.Context(), info.State.FirstSeq)
	if err != nil || !strings.Contains(string(m.Data), "first") {
		t.Errorf("%q, want that of the first, %v", m.Data, err)
	}
	id := strings.Split(m.Header.Get(jetstream.MsgIDHeader), ".")
	if len(id) != 3 || id[0] != "ses_once" || id[1] == "" || id[2] != "1" {
		t.Errorf("the id's parts are %q, want the session's id, one of the publisher, and 1", id)
	}
}
